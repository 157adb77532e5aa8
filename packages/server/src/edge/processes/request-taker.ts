/** Request taker: the leader answers requests that a reader process has passed on, through the routes of the leader. */
import type { FrameSink, LinkFrame } from "../../base/channel/index.ts";
import { AppError } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { errorParts, type GivenAnswer, type HttpServer, isWhole, PassedRequest } from "../http/index.ts";
import { ReceivedBody, SentBody } from "./body-stream.ts";
import { type AnswerHead, kinds, type RequestHead } from "./frames.ts";

/** A file of at most this size goes in a single frame: the runtime drops the length of an answer in pieces. */
const smallFile = 256 * 1024;

interface Taken {
  readonly request: PassedRequest;
  readonly received: ReceivedBody | null;
  sent: SentBody | null;
}

export class RequestTaker {
  readonly #link: FrameSink;
  readonly #http: Pick<HttpServer, "passedOn">;
  readonly #logger: Logger;
  readonly #taken = new Map<number, Taken>();

  constructor(link: FrameSink, http: Pick<HttpServer, "passedOn">, logger: Logger) {
    this.#link = link;
    this.#http = http;
    this.#logger = logger;
  }

  /** Takes a frame of a request or an answer. */
  take({ kind, id, head, body }: LinkFrame): void {
    switch (kind) {
      case kinds.request:
        void this.#answer(id, JSON.parse(head) as RequestHead, body);
        break;
      case kinds.piece:
        this.#taken.get(id)?.received?.add(body);
        break;
      case kinds.end:
        this.#taken.get(id)?.received?.end();
        break;
      case kinds.abort:
        this.#leave(id);
        break;
      case kinds.taken:
        this.#taken.get(id)?.sent?.taken(Number(head));
    }
  }

  /** The reader process has ended: all clients have gone. */
  close(): void {
    for (const id of [...this.#taken.keys()]) this.#leave(id);
  }

  #leave(id: number): void {
    const taken = this.#taken.get(id);
    if (taken === undefined) return;
    this.#taken.delete(id);
    taken.request.leave();
    taken.received?.fail(new Error("The client has disconnected"));
    taken.sent?.cancel();
  }

  async #answer(id: number, head: RequestHead, bytes: Uint8Array): Promise<void> {
    const [index, params, method, url, headers, address, form] = head;
    const received = form === "pieces" ? new ReceivedBody(this.#link, id, () => undefined) : null;
    // A copy: the frames that arrived with the request are freed.
    const body = received?.stream ?? bytes.slice();
    const keepOpen = (): void => this.#link.send({ kind: kinds.keepOpen, id });
    const request = new PassedRequest({ method, url, headers, address, body, keepOpen });
    this.#taken.set(id, { request, received, sent: null });
    try {
      const { exchange, answer } = this.#http.passedOn(request, { index, params });
      const response = await answer;
      if (!this.#taken.has(id)) {
        // The client has gone: the body has no reader.
        await response?.body?.cancel();
        return;
      }
      const { given } = exchange;
      if (given === null || response === undefined) throw new Error("A request that was passed on has no answer");
      const whole = await wholeOf(given.body);
      if (whole === null) await this.#sendInPieces(id, response, headOf(given, "pieces"));
      else if (this.#taken.delete(id))
        this.#link.send({ kind: kinds.answer, id, head: headOf(given, "whole"), body: whole });
    } catch (error) {
      this.#logger.error("A request of another process failed", { error });
      this.#taken.delete(id);
      const { status, headers, body } = errorParts(new AppError("internal_error", "Something went wrong."));
      const answer: AnswerHead = [status, headers, "whole"];
      this.#link.send({ kind: kinds.answer, id, head: JSON.stringify(answer), body });
    }
  }

  async #sendInPieces(id: number, { body }: Response, head: string): Promise<void> {
    this.#link.send({ kind: kinds.answer, id, head });
    const sent = new SentBody(this.#link, id);
    const taken = this.#taken.get(id);
    if (taken !== undefined) taken.sent = sent;
    if (body === null) this.#link.send({ kind: kinds.end, id });
    else await sent.send(body);
    this.#taken.delete(id);
  }
}

/** The body of an answer that goes in a single frame; null for a body that goes in pieces. */
async function wholeOf(body: GivenAnswer["body"]): Promise<string | Uint8Array | null> {
  if (isWhole(body)) return body ?? "";
  return body instanceof Blob && body.size <= smallFile ? body.bytes() : null;
}

function headOf(
  { status, headers }: { readonly status: number; readonly headers: Headers | Record<string, string> },
  form: AnswerHead[2],
): string {
  const head: AnswerHead = [status, headers instanceof Headers ? [...headers] : headers, form];
  return JSON.stringify(head);
}
