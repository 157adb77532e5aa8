/** A body of a request that pauses, so that a test can change the world while the body is under way. */

/** A body that stops after its first byte, until `finish` is called. */
export class PausedBody {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #read = Promise.withResolvers<void>();
  readonly #rest = Promise.withResolvers<void>();

  constructor(bytes: Uint8Array) {
    let pulls = 0;
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          pulls += 1;
          if (pulls === 1) return controller.enqueue(bytes.subarray(0, 1));
          this.#read.resolve();
          await this.#rest.promise;
          controller.enqueue(bytes.subarray(1));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** Resolves when the first byte was read, and more is asked for. */
  get isRead(): Promise<void> {
    return this.#read.promise;
  }

  finish(): void {
    this.#rest.resolve();
  }
}
