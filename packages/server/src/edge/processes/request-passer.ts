/** Request passer: a reader process passes requests on to the leader, and gives the answers of the leader to the clients. */
import type { FrameSink, LinkFrame } from "../../base/channel/index.ts";
import { type ForwardRequest, lateBody, type RoutePlace } from "../http/index.ts";
import { ReceivedBody, SentBody } from "./body-stream.ts";
import { type AnswerHead, kinds, type RequestHead } from "./frames.ts";

/** A body of at most so many bytes leaves with the request, if the body has come by the end of the turn. */
const smallBytes = 16 * 1024;
const bodiless: readonly string[] = ["GET", "HEAD"];

interface PasserOptions {
  readonly link: FrameSink;
  /** The address that a request comes from, as a key. */
  readonly addressOf: (request: Request) => string;
  /** Keeps the connection of a request open until `over` resolves. */
  readonly keepOpen: (request: Request, over: Promise<unknown>) => void;
}

/** A request that the leader has. */
interface Passing {
  readonly request: Request;
  readonly answer: PromiseWithResolvers<Response>;
  sent: SentBody | null;
  received: ReceivedBody | null;
}

/** A request that leaves with the body, or at the end of the turn. */
interface Leaving {
  readonly id: number;
  readonly passing: Passing;
  readonly headOf: (body: RequestHead[6]) => string;
}

export class RequestPasser {
  readonly #options: PasserOptions;
  readonly #passing = new Map<number, Passing>();
  readonly #leaving = new Set<Leaving>();
  #nextId = 0;
  /** At the end of a turn: the rest of the requests leaves without the body. */
  readonly #sendHeads = (): void => {
    for (const { id, headOf } of this.#leaving)
      this.#options.link.send({ kind: kinds.request, id, head: headOf("pieces") });
    this.#leaving.clear();
  };

  constructor(options: PasserOptions) {
    this.#options = options;
  }

  readonly passOn: ForwardRequest = (request, place) => {
    const id = this.#nextId;
    this.#nextId = (id + 1) >>> 0;
    const passing: Passing = { request, answer: Promise.withResolvers(), sent: null, received: null };
    this.#passing.set(id, passing);
    request.signal.addEventListener("abort", () => this.#abort(id));
    const headOf = this.#headOf(request, place);
    const length = lengthOf(request);
    if (length === 0) this.#options.link.send({ kind: kinds.request, id, head: headOf("whole") });
    else if (length > smallBytes) this.#sendInPieces(id, passing, headOf("pieces"));
    else this.#sendSoon({ id, passing, headOf });
    return passing.answer.promise;
  };

  #headOf(request: Request, { index, params }: RoutePlace): (body: RequestHead[6]) => string {
    const { method, url } = request;
    // Values of a header that repeats are one text, except of Set-Cookie, which is a header of answers.
    const headers = request.headers.toJSON() as Record<string, string>;
    const address = this.#options.addressOf(request);
    return (body) => {
      const head: RequestHead = [index, params, method, url, headers, address, body];
      return JSON.stringify(head);
    };
  }

  #sendSoon(leaving: Leaving): void {
    const { id, passing, headOf } = leaving;
    if (this.#leaving.size === 0) setImmediate(this.#sendHeads);
    this.#leaving.add(leaving);
    passing.request.bytes().then(
      (body) => {
        if (!this.#leaving.delete(leaving)) this.#sendRest(id, body);
        else this.#options.link.send({ kind: kinds.request, id, head: headOf("whole"), body });
      },
      () => {
        this.#leaving.delete(leaving);
        this.#abort(id);
      },
    );
  }

  /** A small body has come after the request has left. */
  #sendRest(id: number, bytes: Uint8Array): void {
    if (!this.#passing.has(id)) return;
    this.#options.link.send({ kind: kinds.piece, id, body: bytes });
    this.#options.link.send({ kind: kinds.end, id });
  }

  #sendInPieces(id: number, passing: Passing, head: string): void {
    const { link } = this.#options;
    link.send({ kind: kinds.request, id, head });
    const { body } = passing.request;
    passing.sent = new SentBody(link, id);
    if (body === null) link.send({ kind: kinds.end, id });
    else void passing.sent.send(body);
  }

  /** The client has gone. */
  #abort(id: number): void {
    const passing = this.#passing.get(id);
    if (passing === undefined) return;
    this.#over(id, passing);
    this.#options.link.send({ kind: kinds.abort, id });
    passing.received?.fail(new Error("The client has gone"));
    // The answer has no reader.
    passing.answer.resolve(new Response(null, { status: 499 }));
  }

  #over(id: number, passing: Passing): void {
    this.#passing.delete(id);
    passing.sent?.cancel();
  }

  /** Takes a frame of a request or an answer. */
  take({ kind, id, head, body }: LinkFrame): void {
    const passing = this.#passing.get(id);
    switch (kind) {
      case kinds.answer:
        if (passing !== undefined) this.#answered(id, passing, { head: JSON.parse(head) as AnswerHead, body });
        break;
      case kinds.piece:
        passing?.received?.add(body);
        break;
      case kinds.end:
        passing?.received?.end();
        if (passing !== undefined) this.#over(id, passing);
        break;
      case kinds.abort:
        passing?.received?.fail(new Error("The answer broke off"));
        if (passing !== undefined) this.#over(id, passing);
        break;
      case kinds.taken:
        passing?.sent?.taken(Number(head));
        break;
      case kinds.keepOpen:
        if (passing !== undefined) this.#options.keepOpen(passing.request, passing.answer.promise);
    }
  }

  #answered(id: number, passing: Passing, { head, body }: { head: AnswerHead; body: Uint8Array }): void {
    const [status, headers, form] = head;
    const init = { status, headers: headers as Record<string, string> };
    if (form === "whole") {
      this.#over(id, passing);
      // A file keeps the length. A stream waits for the client: a copy lets the frames that arrived with the answer go.
      const sent = "Content-Length" in headers ? body : lateBody(body.slice());
      passing.answer.resolve(new Response(body.byteLength === 0 ? null : sent, init));
      return;
    }
    const received = new ReceivedBody(this.#options.link, id, () => this.#abort(id));
    passing.received = received;
    passing.answer.resolve(new Response(received.stream, init));
  }
}

/** The declared length of a body; infinite for a body without a declared length, and 0 without a body. */
function lengthOf({ method, headers, bodyUsed }: Request): number {
  // The runtime answers no body for these methods. A body that was dropped is used.
  if (bodiless.includes(method) || bodyUsed) return 0;
  const length = headers.get("content-length");
  if (length !== null) return /^\d{1,15}$/.test(length) ? Number(length) : Number.POSITIVE_INFINITY;
  return headers.get("transfer-encoding") === null ? 0 : Number.POSITIVE_INFINITY;
}
