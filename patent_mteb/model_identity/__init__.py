"""Identity of loaded models: digests, the prompts that they put before texts, and a record of each as it was loaded."""

# mteb is imported first: its import triggers the registration, which needs fully imported modules of this package.
import mteb  # noqa: F401
