/** Server-sent events (HTML standard, 9.2), read with `fetch`: `EventSource` cannot send a token. */

/** Calls `listener` with the data of each event, until the stream ends. Rejects when the stream breaks or is aborted. */
export async function readServerEvents(response: Response, listener: (data: string) => void): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const data = event
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).replace(/^ /, ""));
      if (data.length > 0) listener(data.join("\n"));
    }
  }
}
