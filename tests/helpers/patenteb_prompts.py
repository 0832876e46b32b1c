"""PatenTEB's Table 11, written apart from the package: the prefixes of queries and documents by task."""

EXPECTED = {
    "PatenTEBRetrievalIN": ("encode query for same document retrieval: ", "encode document for same retrieval: "),
    "PatenTEBRetrievalOUT": (
        "encode query for different document retrieval: ",
        "encode document for different retrieval: ",
    ),
    "PatenTEBRetrievalMIXED": ("encode query for mixed document retrieval: ", "encode document for mixed retrieval: "),
    "PatenTEBTitle2Full": ("encode title query for document retrieval: ", "encode document for retrieval: "),
    "PatenTEBProblem2Full": ("encode problem query for document retrieval: ", "encode document for retrieval: "),
    "PatenTEBEffect2Full": ("encode effect query for document retrieval: ", "encode document for retrieval: "),
    "PatenTEBEffect2Substance": ("encode effect query for substance retrieval: ", "encode substance for retrieval: "),
    "PatenTEBProblem2Solution": ("encode problem query for solution retrieval: ", "encode solution for retrieval: "),
    "PatenTEBParaProblem": ("encode problem for problem paraphrase: ",) * 2,
    "PatenTEBParaSolution": ("encode solution for solution paraphrase: ",) * 2,
    "PatenTEBText2IPC3": ("encode document for ipc classification: ",) * 2,
    "PatenTEBBloom": ("encode document for bloom prediction classification: ",) * 2,
    "PatenTEBNLIOldNew": (
        "encode citing document for pair classification: ",
        "encode cited document for pair classification: ",
    ),
    "PatenTEBFullIPCClustering": ("encode document for same ipc clustering: ",) * 2,
    "PatenTEBInventorClustering": ("encode document for same inventors clustering: ",) * 2,
}
