/**
 * Requests in flight: how many requests and sockets an address has open, the bytes of answers that no client has taken yet,
 * and the requests that a stop gives up.
 */
import { Admission, AppError, BoundedMap, type Holder, type LimitName, type Place } from "../../base/kernel/index.ts";
import { pathIn } from "./headers.ts";

let turn = 0;
let isCounted = false;

/** The number of the present turn of the event loop: a changed number means that other work has had a turn. */
export function presentTurn(): number {
  if (!isCounted) {
    isCounted = true;
    setImmediate(() => {
      isCounted = false;
      turn += 1;
    });
  }
  return turn;
}

/** Smaller answers are not counted: the system's socket buffers take these answers at once. */
export const countedBytes = 64 * 1024;
const defaultTiming = {
  /** How long a new answer waits for room. */
  patienceMs: 5_000,
  /** An answer is broken off if its client takes nothing for this time and other answers wait for the bytes. */
  stalledMs: 4_000,
};
/** The most large pieces that may wait to be made; at most half of the pieces belong to a single caller. */
const maxWaitingTurns = 2_000;
/** Bytes of large answers that may be made in a turn of the event loop; each further answer gets a separate turn. */
const turnBytes = 2 * 1024 ** 2;
/** The most answers that may wait for room before they are made. */
const maxWaiting = 1_000;
/** The part of the bound for answers that wait for room after they were made. */
const waitingPart = 1 / 5;
/** The most shapes of URLs in memory. */
const maxShapes = 1_000;

const limit: LimitName = "answers";

/** The parts of the service that the memory of all answers shares. */
interface Answers {
  /** The bytes of answers in flight. */
  readonly room: Admission;
  /** The bytes of made answers that wait for room. */
  readonly waiting: Admission;
  readonly stalledMs: number;
  readonly onLimit: (caller: string) => void;
}

/** The memory of an answer in flight. The memory counts until `release`; a second call has no effect. */
export class Hold implements Holder {
  /** Called once when the answer must end to free its memory for other answers. */
  onCut: (() => void) | null = null;
  readonly #caller: string;
  readonly #answers: Answers;
  #progressAt = performance.now();
  #place: Place | null = null;

  constructor(caller: string, answers: Answers) {
    this.#caller = caller;
    this.#answers = answers;
  }

  /** Counts an answer, also beyond the bound. */
  begin(bytes: number): this {
    return this.#in(this.#answers.room.hold(this.#ask(bytes)));
  }

  /**
   * Waits for room, and takes the room.
   * @throws AppError `unavailable` after some seconds, or when too many wait.
   */
  async take(bytes: number, signal: AbortSignal): Promise<this> {
    return this.#in(await this.#answers.room.take({ ...this.#ask(bytes), signal }));
  }

  /** As `take`, for an answer whose bytes are in memory already. @throws AppError `unavailable`, also when too many bytes wait. */
  wait(bytes: number, signal: AbortSignal): Promise<this> {
    const ask = { caller: this.#caller, size: bytes };
    return this.#answers.waiting.run(() => this.take(bytes, signal), ask);
  }

  #ask(size: number): { caller: string; size: number; holder: Holder } {
    return { caller: this.#caller, size, holder: this };
  }

  /** The bytes that count now. */
  get size(): number {
    return this.#place?.size ?? 0;
  }

  #in(place: Place): this {
    this.#place = place;
    this.progressed();
    return this;
  }

  /** Notes that the client has taken all bytes so far, and that more bytes follow. */
  next(bytes: number): void {
    this.progressed();
    this.#place?.resize(bytes);
  }

  /**
   * Waits until the begun answer may go on with more bytes, however long the wait is: the server closes a connection on
   * which nothing moves. The bytes so far are free meanwhile.
   */
  async goOn(bytes: number, signal: AbortSignal): Promise<void> {
    const ask = this.#ask(bytes);
    this.next(0);
    if (this.#answers.room.has(ask)) return this.next(bytes);
    this.#place?.release();
    // While the answer waits for room, its client is not waited for.
    this.#place = null;
    this.#in(await this.#answers.room.takeAgain({ ...ask, signal }));
  }

  /** Notes that the client has taken a part. */
  progressed(): void {
    this.#progressAt = performance.now();
  }

  slowness(now: number): number {
    // An answer that is still being made waits for the service, and not for its client.
    if (this.onCut === null || this.#place === null) return 0;
    const ms = now - this.#progressAt;
    return ms < this.#answers.stalledMs ? 0 : ms;
  }

  end(): void {
    this.#answers.onLimit(this.#caller);
    const { onCut } = this;
    this.onCut = null;
    onCut?.();
  }

  release(): void {
    this.onCut = null;
    this.#place?.release();
  }
}

/** The error of a request that is still running when the service stops. */
export class Stopping extends AppError {
  constructor() {
    super("unavailable", "The service is stopping.");
  }
}

/** A request, or the socket that the request has become. */
export interface Open {
  readonly address: string;
  /** The way the request is counted: only in the total, for its address, or, before `enter` and after `leave`, not at all. */
  countedBy: "all" | "address" | null;
}

interface InFlightOptions {
  /** The most requests and sockets that an address may have open. */
  readonly connectionsPerAddress: number;
  /** The most bytes of answers: a fifth for made answers that wait, the rest for answers that leave. A caller has half of each part. */
  readonly answersLimit: number;
  /** Called with the caller of a broken-off answer. */
  readonly onLimit: (caller: string) => void;
  readonly timing?: typeof defaultTiming;
}

/**
 * Counts requests and sockets by address. Asking for the address of a request costs more than some answers, so the
 * first open requests count only in the total: these requests are few and soon over. Every further request, and every
 * socket, is counted for its address.
 *
 * Counts the bytes of an answer from the time the bytes are read until the client has taken the bytes. A large answer waits
 * for room after the answer was made; further answers of the same shape wait before they are made. An answer that is larger than the
 * bound goes alone.
 */
export class InFlight {
  readonly #options: InFlightOptions;
  /** The number of open requests that need not be counted for their address. */
  readonly #free: number;
  readonly #counts = new Map<string, number>();
  #freeRequests = 0;
  /** The ends of long work. */
  readonly #ends = new Set<() => void>();
  readonly #answers: Answers;
  /** The sizes of answers that found no room, by the shape of the URL. */
  readonly #sizes = new BoundedMap<string, number>(maxShapes);
  readonly #turns = new Admission({
    limit,
    message: "Too many large answers are being made; try again in a moment.",
    width: 1,
    maxWaiting: maxWaitingTurns,
    waitingShare: maxWaitingTurns / 2,
  });
  /** The last turn in which a large answer was made, and the bytes of its answers. */
  #turn = 0;
  #turnBytes = 0;

  constructor(options: InFlightOptions) {
    this.#options = options;
    this.#free = Math.floor(options.connectionsPerAddress / 5);
    const { patienceMs, stalledMs } = options.timing ?? defaultTiming;
    const message = "Too many large answers are on their way. Try again in a moment.";
    const waiting = options.answersLimit * waitingPart;
    const width = options.answersLimit - waiting;
    this.#answers = {
      room: new Admission({ limit, message, width, share: width / 2, maxWaiting, patienceMs }),
      waiting: new Admission({ limit, message, width: waiting, share: waiting / 2, maxWaiting: 0 }),
      stalledMs,
      onLimit: options.onLimit,
    };
  }

  /** @throws AppError `rate_limited` when the address has reached its bound. */
  enter(one: Open): void {
    if (this.#freeRequests < this.#free) {
      this.#freeRequests += 1;
      one.countedBy = "all";
    } else {
      this.#count(one);
    }
  }

  /** A request becomes a socket, which may stay open for long. @throws AppError as `enter`. */
  becomeSocket(one: Open): void {
    if (one.countedBy === "address") return;
    this.#count(one);
    this.#freeRequests -= 1;
  }

  /** Call `leave` when the answer has gone or the socket is closed; a second call does nothing. */
  leave(one: Open): void {
    const { countedBy } = one;
    one.countedBy = null;
    if (countedBy === "all") this.#freeRequests -= 1;
    if (countedBy !== "address") return;
    const own = (this.#counts.get(one.address) ?? 0) - 1;
    if (own > 0) this.#counts.set(one.address, own);
    else this.#counts.delete(one.address);
  }

  #count(one: Open): void {
    const own = this.#counts.get(one.address) ?? 0;
    if (own >= this.#options.connectionsPerAddress) {
      const message = `Your address has ${own} requests and sockets open already.`;
      throw new AppError("rate_limited", message, { limit: "connectionsPerAddress", retryAfter: 1 });
    }
    this.#counts.set(one.address, own + 1);
    one.countedBy = "address";
  }

  /** The result of work that may take long. A stop ends the wait with `Stopping`. */
  untilStop<T>(work: Promise<T>): Promise<T> {
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    const end = (): void => reject(new Stopping());
    this.#ends.add(end);
    return Promise.race([work, stopped]).finally(() => this.#ends.delete(end));
  }

  giveUp(): void {
    for (const end of [...this.#ends]) end();
  }

  /** Bytes of answers in flight. */
  get bytes(): number {
    return this.#answers.room.taken;
  }

  /** Notes that a large answer was made in this turn of the event loop. */
  made(bytes: number): void {
    const turn = presentTurn();
    this.#turnBytes = turn === this.#turn ? this.#turnBytes + bytes : bytes;
    this.#turn = turn;
  }

  /** Whether this turn of the event loop has made so many bytes that a further answer waits for a separate turn. */
  get isTurnFull(): boolean {
    return this.#turnBytes > turnBytes && this.#turn === presentTurn();
  }

  /**
   * Starts to make a large answer, or a piece of a large answer, in a separate turn of the event loop.
   * @throws AppError `unavailable` when too many wait.
   */
  inTurn<T>(caller: string, make: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#turns.inTurn(make, { caller, signal });
  }

  /** The size that an answer to a URL of this shape had when the answer found no room; null for a shape whose answers have room. */
  expected(url: string): number | null {
    return this.#sizes.size === 0 ? null : (this.#sizes.get(shapeOf(url)) ?? null);
  }

  /** The answer to a URL found no room, or has taken room that was reserved: further requests of this shape wait before their work. */
  expects(url: string, bytes: number): void {
    this.#sizes.set(shapeOf(url), bytes);
  }

  /** The answer to a URL was small this time. */
  forget(url: string): void {
    this.#sizes.delete(shapeOf(url));
  }

  hasRoom(caller: string, bytes: number): boolean {
    return this.#answers.room.has({ caller, size: bytes });
  }

  /** The memory of a new answer, which counts from `begin`, `take` or `wait` on. */
  hold(caller: string): Hold {
    return new Hold(caller, this.#answers);
  }
}

/** The parts of a URL that the size of an answer depends on most; a parameter without a meaning makes no new shape. */
function shapeOf(url: string): string {
  const search = url.split("?")[1] ?? "";
  return `${pathIn(url)}?${search.match(/(?<![^&])(?:expand|fields|limit)=[^&]*/g)?.join("&") ?? ""}`;
}
