/**
 * Released memory: the bytes outside the garbage collector's heap (texts, buffers, images) that were let go. The
 * collector does not see these bytes, and frees the bytes late or, in a flood, never. So the collector is run after so
 * many bytes, and once the service is quiet.
 */

/** After so many bytes the collector runs at once: a collector that is only asked to run comes too late for a flood. */
const collectAfter = 32 * 1024 ** 2;
const quietMs = 1_000;
/** Fewer bytes are no reason to collect in a quiet service. */
const noteworthy = 64 * 1024;

let released = 0;
let isWaiting = false;

function collect(isUrgent: boolean): void {
  released = 0;
  Bun.gc(isUrgent);
}

/** Smaller bytes may be a part of a buffer that others use, too. */
const ownBytes = 64 * 1024;

/**
 * Frees the bytes of a large buffer that nobody uses any more. In a flood of answers the collector would free the bytes too
 * late, and a run of the collector would hold the event loop.
 */
export function releaseBytes({ buffer, byteLength }: Uint8Array): void {
  if (byteLength > ownBytes && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** Characters of a large text. The garbage of shorter texts is collected without help. */
const largeText = 64 * 1024;

/** To be called when the JSON of rows was made: the text and the texts of the rows are garbage soon. */
export function releasedText({ length }: string): void {
  if (length > largeText) releasedMemory(2 * length);
}

/** To be called when bytes outside the heap were let go. */
export function releasedMemory(bytes: number): void {
  released += bytes;
  if (released >= collectAfter) collect(true);
  if (bytes < noteworthy || isWaiting) return;
  isWaiting = true;
  setTimeout(() => {
    isWaiting = false;
    collect(false);
  }, quietMs).unref();
}
