// What the tests of the page share: finding things in a frame, using them, waiting, and telling what was seen.
"use strict";

const observed = {};
const settle = (time = 60) => new Promise((resolve) => setTimeout(resolve, time));
const all = (frame, selector) => [...frame.contentDocument.querySelectorAll(selector)];
const one = (frame, selector) => frame.contentDocument.querySelector(selector);
const overflow = (frame) => frame.contentDocument.documentElement.scrollWidth - frame.contentWindow.innerWidth;

async function click(frame, label, selector) {
  all(frame, selector).find((node) => node.textContent === label).click();
  await settle();
}

// Texts of charts that leave their canvas.
function cutText(frame) {
  return all(frame, "main svg").flatMap((svg) => {
    const room = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter((node) => {
      const box = node.getBoundingClientRect();
      return box.left < room.left - 1 || box.right > room.right + 1 || box.top < room.top - 1 || box.bottom > room.bottom + 1;
    }).map((node) => node.textContent);
  });
}

// A page unpacks itself beside the main thread, for which virtual time does not wait: each look takes some real time.
async function untilReady(frame) {
  for (let looks = 0; looks < 5000 && !frame.contentDocument.documentElement.dataset.ready; looks += 1) {
    let work = 0;
    for (let step = 0; step < 2e6; step += 1) work += step;
    await settle(work ? 50 : 0);
  }
}

function watch(use) {
  addEventListener("load", async () => {
    for (const frame of document.querySelectorAll("iframe")) {
      try {
        await untilReady(frame);
        observed[frame.id] = await use(frame);
      } catch (error) {
        observed[frame.id] = { failed: `${error}\n${error.stack}`, problems: frame.contentWindow.problems };
      }
    }
    document.getElementById("observed").textContent = JSON.stringify(observed);
  });
}
