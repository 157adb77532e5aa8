/**
 * Idempotency: requests with the header `Idempotency-Key` (docs/api.md, "Requests that are sent again"). The first lasting answer
 * is kept for the caller and the key, and given again. A failure, and a refusal of the caller or of the moment, does not last.
 *
 *     unknown ── a request ──► under way ── a lasting answer, in a transaction ──► kept ── 24 h ──► unknown
 *        ▲                         │
 *        └── any other end, a crash ┘
 *
 * A change and the answer to the change are one transaction, so a key whose change is on disk is never unknown. The keys under
 * way are in memory: a crash ends the requests, too. Refusals are in memory, because a refused request has changed nothing.
 */
import { AppError, CallerGone, count, identityOf, type JsonText } from "../../base/kernel/index.ts";
import type { Database, Transactor } from "../../store/database/index.ts";
import { errorParts } from "./error-response.ts";
import type { Exchange } from "./exchange.ts";
import { jsonType, pathIn, statusOf } from "./headers.ts";
import type { KeptAnswer, KeptAnswers, KeyedRequest } from "./idempotency-table.ts";
import { countedBytes } from "./in-flight.ts";
import { madePieces, type Pieces } from "./response-stream.ts";
import { parameter } from "./route.ts";

const header = "Idempotency-Key";
const keyForm = /^[\x21-\x7e]{1,255}$/;

/** The header, as the document has the header. */
export const idempotencyKey = {
  [header]: parameter(
    "A random key of visible ASCII characters: the change is made once, and a repeated request gets the first answer.",
    { schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" } },
  ),
};

/** Keeps the answer to a request, inside the transaction of the change. Called again, the last answer counts. */
export type Keep = (tx: Transactor, answer: KeptAnswer) => void;

interface IdempotencyOptions {
  readonly database: Database;
  readonly keptAnswers: KeptAnswers;
  /** See `limits.idempotencyKeys`. */
  readonly maxKeys: number;
  /** Bytes of the body of an endpoint's answer that is kept. */
  readonly maxBody: number;
}

/** A request with a key, and the body, which has come whole. */
interface Keyed {
  readonly key: string;
  readonly body: Uint8Array;
  /** The headers that a repeated request must have, too, as text. */
  readonly headers?: string;
}

/** The key of a request; null without the header. @throws AppError `bad_request` for a header that is no key. */
export function keyOf({ request }: Exchange): string | null {
  const key = request.headers.get("idempotency-key");
  if (key === null || keyForm.test(key)) return key;
  const found = key.length > 255 ? `${key.length} characters` : key === "" ? "no character" : "other characters";
  throw new AppError("bad_request", `The header ${header} must be 1 to 255 visible ASCII characters; it has ${found}.`);
}

export class Idempotency {
  readonly #options: IdempotencyOptions;
  /** The requests under way, by the hash of caller and key. */
  readonly #underWay = new Map<string, KeyedRequest>();

  constructor(options: IdempotencyOptions) {
    this.#options = options;
  }

  /**
   * Answers a request with a key: with the kept answer, or by `run`.
   * @param run makes the change, and calls `keep` in the transaction of the change. A response is the answer if `run` has kept no answer.
   * @throws AppError `conflict` for a key under way, `bad_request` for the key of another request, `rate_limited` when the
   * holder's answers reach the bound, and the errors of `run`.
   */
  async answer(
    exchange: Exchange,
    { key, body, headers }: Keyed,
    run: (keep: Keep) => Promise<Response | undefined>,
  ): Promise<Response> {
    const { keptAnswers } = this.#options;
    // The caller's session may have ended while the body came.
    const principal = await exchange.principal();
    const keyed: KeyedRequest = {
      key: hashOf(JSON.stringify([identityOf(principal), key])),
      holder: hashOf(exchange.callerKey(principal)),
      request: hashOf(
        `${exchange.request.method} ${pathIn(exchange.request.url)}?${exchange.search}\n${headers ?? ""}`,
        body,
      ),
    };
    const underWay = this.#underWay.get(keyed.key);
    const kept = underWay === undefined ? keptAnswers.find(keyed.key) : null;
    const known = underWay ?? kept;
    if (known !== null && known.request !== keyed.request)
      throw new AppError(
        "bad_request",
        `The ${header} belongs to an earlier request with another route or another body${headers === undefined ? "" : ", or with other headers"}.`,
      );
    if (underWay !== undefined)
      throw new AppError("conflict", `A request with this ${header} is under way. Try again in a moment.`, {
        retryAfter: 1,
      });
    if (kept !== null) return give(exchange, { ...kept, headers: [...kept.headers, ["Idempotency-Replayed", "true"]] });
    this.#admit(keyed.holder);
    this.#underWay.set(keyed.key, keyed);
    try {
      return await this.#first(exchange, keyed, run);
    } finally {
      this.#underWay.delete(keyed.key);
    }
  }

  async #first(
    exchange: Exchange,
    keyed: KeyedRequest,
    run: (keep: Keep) => Promise<Response | undefined>,
  ): Promise<Response> {
    const { keptAnswers } = this.#options;
    let kept: KeptAnswer | null = null;
    const keep: Keep = (tx, answer) => {
      keptAnswers.keep(tx, keyed, answer);
      kept = answer;
    };
    const answerOf = async (): Promise<Response | undefined> => {
      try {
        return await run(keep);
      } catch (thrown) {
        if (!isLasting(thrown)) throw thrown;
        kept = keptError(thrown);
        keptAnswers.keepRefusal(keyed, kept);
        return undefined;
      }
    };
    const answer = await answerOf();
    if (answer !== undefined) return answer;
    if (kept === null) throw new Error("A request with a key has ended without an answer");
    return give(exchange, kept);
  }

  /**
   * Keeps the answer of an endpoint. An answer whose body is longer than the bound leaves as the body comes; a repeated request is
   * told that the first request was answered.
   * @returns undefined for a kept answer; otherwise the response for the client.
   */
  async keepResponse(exchange: Exchange, response: EndpointResponse, keep: Keep): Promise<Response | undefined> {
    const { status, headers, body } = response;
    const { database, maxBody } = this.#options;
    const isForNow = headers.some(([name]) => name.toLowerCase() === "retry-after");
    if (!isLastingStatus(status, isForNow)) return exchange.forward(status, body, headers);
    const pieces = body instanceof Uint8Array ? madePieces([body]) : (body ?? madePieces([]));
    const begun = await beginOf(pieces, maxBody).catch(() => null);
    if (begun === null)
      return exchange.error(new AppError("unavailable", "The answer of the endpoint broke off."), { status: 502 });
    const { start, isWhole } = begun;
    const answer = isWhole ? { status, headers, body: Buffer.concat(start) } : keptError(answeredOnce());
    try {
      await database.upkeep((tx) => keep(tx, answer));
    } catch (thrown) {
      void pieces.return();
      throw thrown;
    }
    return isWhole ? undefined : exchange.forward(status, joined(start, pieces), headers);
  }

  /**
   * A refusal, rather than an end of the oldest answers: a client whose answer was lost would make the change a second time.
   * @throws AppError `rate_limited`.
   */
  #admit(holder: string): void {
    const { keptAnswers, maxKeys } = this.#options;
    let sum = keptAnswers.sumOf(holder);
    for (const other of this.#underWay.values()) if (other.holder === holder) sum += 1;
    if (sum < maxKeys) return;
    const message = `The answers to ${count(maxKeys, "request")} with an ${header} are kept for this caller, which limits.idempotencyKeys allows for a day.`;
    throw new AppError("rate_limited", message, {
      details: [{ field: header, rule: "max", message: "no more keys until earlier keys are a day old" }],
      limit: "idempotencyKeys",
      retryAfter: 60,
    });
  }
}

/** The answer of an endpoint, before the headers that every answer carries. */
interface EndpointResponse extends Pick<KeptAnswer, "status" | "headers"> {
  readonly body: Uint8Array | Pieces | null;
}

/** The pieces of a body up to a bound, and whether the body ends there. */
async function beginOf(pieces: Pieces, limit: number): Promise<{ start: Uint8Array[]; isWhole: boolean }> {
  const start: Uint8Array[] = [];
  for (let bytes = 0; bytes <= limit; ) {
    const { done, value } = await pieces.next();
    if (done === true) return { start, isWhole: true };
    start.push(value);
    bytes += value.byteLength;
  }
  return { start, isWhole: false };
}

function joined(start: Uint8Array[], rest: Pieces): Pieces {
  return {
    async next() {
      const value = start.shift();
      return value === undefined ? rest.next() : { done: false, value };
    },
    return: () => rest.return(),
  };
}

/** The kept answer to an endpoint's request whose own answer is too long. */
function answeredOnce(): AppError {
  const message = `The request with this ${header} was answered; the answer was too long to be kept (limits.body).`;
  return new AppError("conflict", message);
}

/** A JSON answer in the form that is kept. */
export function keptJson(status: number, json: JsonText, headers: Readonly<Record<string, string>> = {}): KeptAnswer {
  return { status, headers: [["Content-Type", jsonType], ...Object.entries(headers)], body: json.bytes };
}

function hashOf(text: string, bytes: Uint8Array = new Uint8Array()): string {
  return new Bun.CryptoHasher("sha256").update(text).update(bytes).digest("base64url");
}

/** Whether an error is the answer of the request: no failure, and not the end of a wait for a client that has left. */
function isLasting(thrown: unknown): thrown is AppError {
  if (!(thrown instanceof AppError) || thrown instanceof CallerGone) return false;
  return isLastingStatus(statusOf(thrown), thrown.retryAfter !== undefined);
}

/** Whether an answer lasts. The client sends a request again after a failure, with another token or right, or in a moment. */
function isLastingStatus(status: number, isForNow: boolean): boolean {
  if (status >= 500 || [401, 403, 429].includes(status)) return false;
  return status < 400 || !isForNow;
}

/** The answer to an error in the form that is kept. */
function keptError(error: AppError): KeptAnswer {
  const { status, body } = errorParts(error);
  return { status, headers: [["Content-Type", jsonType]], body: new Uint8Array(Buffer.from(body)) };
}

function give(exchange: Exchange, { status, headers, body }: KeptAnswer): Response {
  if (body.byteLength <= countedBytes) return exchange.forward(status, body.byteLength === 0 ? null : body, headers);
  return exchange.forward(status, madePieces([body]), headers);
}
