/** The test of a pattern in a worker: a pattern with endless backtracking blocks only this worker. */
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
