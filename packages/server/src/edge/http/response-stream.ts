/** The body of a response that is sent in pieces, no faster than the client reads the pieces, and counted as in flight meanwhile. */
import { overloaded, releaseBytes, releasedMemory } from "../../base/kernel/index.ts";
import { countedBytes, type Hold, type InFlight } from "./in-flight.ts";

const encoder = new TextEncoder();

/**
 * Larger pieces leave in parts, because the runtime copies bytes that a socket cannot take at once. Each part that has
 * gone is progress, by which a slow client is told from a client that takes nothing.
 */
const partBytes = 128 * 1024;

/**
 * The pieces of a body, in the order. `return` ends the pieces before the last; an async generator has both. A piece belongs
 * to the stream, which frees the piece.
 */
export interface Pieces {
  next(): Promise<IteratorResult<Uint8Array, unknown>>;
  return(): Promise<unknown>;
  /** Bytes of the pieces that are made already, and still wait. Absent if each piece is made when the stream asks. */
  readonly waiting?: number;
}

interface StreamOptions {
  readonly inFlight: InFlight;
  readonly caller: string;
  /** The room of the first piece: the stream makes the first piece without a wait for room. */
  readonly hold: Hold;
  /** Told why the answer could not be finished. */
  readonly onBroken: (thrown: unknown) => void;
  /** Called once, when the answer has gone or the client has. */
  readonly onEnd: () => void;
}

/**
 * A body of pieces, each asked for when the client has taken the earlier piece and the next has room. When a piece fails,
 * the connection breaks off: no client takes a part for the whole. When the client goes, `pieces` ends at once.
 */
export function streamOf(
  pieces: Pieces,
  { inFlight, caller, hold, onBroken, onEnd }: StreamOptions,
): ReadableStream<Uint8Array> {
  let piece: Uint8Array | null = null;
  let at = 0;
  let width = countedBytes;
  let hasBegun = false;
  let hasEnded = false;
  const leaving = new AbortController();

  /** Lets everything go that the answer has in memory. */
  function end(): void {
    if (hasEnded) return;
    hasEnded = true;
    hold.release();
    if (piece !== null) releaseBytes(piece);
    piece = null;
    leaving.abort();
    onEnd();
  }

  function give(controller: ReadableStreamDefaultController<Uint8Array>, from: Uint8Array): void {
    // A copy: the piece is freed before the runtime lets the parts go.
    const part = from.byteLength <= partBytes ? from : copyOf(from, at);
    at += part.byteLength;
    if (at >= from.byteLength) {
      piece = null;
      if (part !== from) releaseBytes(from);
      else releasedMemory(from.byteLength);
    }
    controller.enqueue(part);
  }

  async function giveNext(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      // Pieces that are made already have the room.
      if (hasBegun && pieces.waiting === undefined) {
        await hold.goOn(width, leaving.signal);
        if (hasEnded) return hold.release();
      }
      hasBegun = true;
      const isLarge = width > countedBytes && pieces.waiting === undefined;
      const next = await (isLarge ? inFlight.inTurn(caller, () => pieces.next(), leaving.signal) : pieces.next());
      if (hasEnded) return;
      if (next.done === true) {
        end();
        controller.close();
        return;
      }
      width = next.value.byteLength;
      hold.next(width + (pieces.waiting ?? 0));
      piece = next.value;
      at = 0;
      give(controller, piece);
    } catch (thrown) {
      if (hasEnded) return;
      end();
      void pieces.return();
      onBroken(thrown);
      controller.error(thrown);
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        hold.onCut = () => {
          const error = overloaded("answers", "The client took nothing of the answer while others waited.");
          end();
          void pieces.return();
          controller.error(error);
        };
      },
      pull(controller) {
        if (piece === null) return giveNext(controller);
        hold.progressed();
        return give(controller, piece);
      },
      async cancel() {
        end();
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
}

/** From so many bytes on, the runtime sends the headers of a late answer singly, with four system calls for each header. */
const uncorkedBytes = 15 * 1024;
/** The most bytes in UTF-8 of a unit of a text. */
const unitBytes = 3;

/**
 * The body of an answer that is given after the turn of the request: from some length on a stream, which leaves with the headers.
 */
export function lateBody(body: string | Uint8Array): string | Uint8Array | ReadableStream<Uint8Array> {
  if (typeof body === "string" && body.length * unitBytes < uncorkedBytes) return body;
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  if (bytes.byteLength < uncorkedBytes) return bytes;
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
}

/** A copy of a part; `slice` of a `Buffer` would be a view. */
function copyOf(bytes: Uint8Array, at: number): Uint8Array {
  return new Uint8Array(bytes.subarray(at, at + partBytes));
}

export function madePieces(pieces: readonly Uint8Array[]): Required<Pieces> {
  const left = pieces.filter(({ byteLength }) => byteLength > 0);
  return {
    get waiting() {
      return left.reduce((sum, { byteLength }) => sum + byteLength, 0);
    },
    async next() {
      const value = left.shift();
      return value === undefined ? { done: true, value } : { done: false, value };
    },
    async return() {
      for (const piece of left.splice(0)) releaseBytes(piece);
    },
  };
}

/** Copies of the parts of bytes that others share. */
export async function* partsOf(shared: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < shared.byteLength; at += partBytes) yield copyOf(shared, at);
}
