/** The packing thread as the service sees it: started for one backup, given up at any time, gone afterwards. */
import { canStartThread, threadEntry } from "../kernel/index.ts";
import type { PackReply, PackRequest, PackResult } from "./pack-worker.ts";

/** How long a thread that was given up may take to end. */
const endMs = 2_000;

export interface PackCalls {
  /** The copy of the database is there. */
  onCopied: () => void;
  onProgress: (done: number, total: number) => void;
}

/** @throws Error when it fails, or when the signal gives it up. The file may be there then, and is not whole. */
export async function packOnThread(
  request: Omit<PackRequest, "stop">,
  { onCopied, onProgress, signal }: PackCalls & { signal: AbortSignal },
): Promise<PackResult> {
  signal.throwIfAborted();
  if (!canStartThread()) throw new Error("too few file descriptors are left");
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const outcome = Promise.withResolvers<PackResult>();
  const worker = new Worker(threadEntry("backup/pack-worker"));
  const ended = new Promise<void>((resolve) => worker.addEventListener("close", () => resolve()));
  worker.onmessage = ({ data }: MessageEvent<PackReply>) => {
    if ("copied" in data) onCopied();
    else if ("done" in data) onProgress(data.done, data.total);
    else if ("result" in data) outcome.resolve(data.result);
    else outcome.reject(signal.aborted ? signal.reason : new Error(data.error));
  };
  worker.onerror = ({ message }) => outcome.reject(new Error(`the thread of the backup failed: ${message}`));
  void ended.then(() => outcome.reject(new Error("the thread of the backup has ended")));
  const giveUp = (): void => {
    Atomics.store(stop, 0, 1);
    // A statement or a store that does not answer is not waited for.
    setTimeout(() => outcome.reject(signal.reason), endMs).unref();
  };
  signal.addEventListener("abort", giveUp);
  try {
    worker.postMessage({ ...request, stop } satisfies PackRequest);
    return await outcome.promise;
  } finally {
    signal.removeEventListener("abort", giveUp);
    worker.terminate();
    await Promise.race([ended, Bun.sleep(endMs)]);
  }
}
