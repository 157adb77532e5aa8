/** The trial of a pattern, off the page: a pattern that backtracks without end holds up this worker alone. */
interface Trial {
  readonly pattern: string;
  readonly value: string;
}

addEventListener("message", ({ data }: MessageEvent<Trial>) => {
  try {
    postMessage(new RegExp(data.pattern).test(data.value));
  } catch {
    postMessage(null);
  }
});
