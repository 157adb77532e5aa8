/**
 * Room links: the members and messages of rooms between the leader and each replica, in memory alone. A replica sends its news in one
 * request after the other, and asks for the news of the leader in questions that wait for news. A link that fails is over on both sides: the members
 * behind the link have left, and the next link begins with all members.
 */
import { AppError } from "../../base/kernel/index.ts";
import type { RoomLink, RoomNews, Rooms } from "../../live/rooms/index.ts";
import { Signal } from "./signal.ts";
import { leaseMs, pollMs, questionMs } from "./timing.ts";

/** The pause before the next link. */
const pauseMs = 250;
/** Characters of news that may wait for the other side. */
const mostWaiting = 16 * 1024 ** 2;
/** Characters of the news in a request or an answer, from which on no members of the beginning are added. */
const mostMembers = 1024 ** 2;

/** The request of a replica: news for the leader, or a question for the leader's news. */
export interface RoomQuestion {
  /** Names the link; random. */
  readonly link: string;
  /** `open` begins a link. */
  readonly kind: "open" | "tell" | "ask";
  readonly news: readonly RoomNews[];
}

export interface RoomAnswer {
  readonly news: readonly RoomNews[];
  /** Whether these are the last members of the beginning. */
  readonly isWhole: boolean;
}

/** The news that wait for the other side of a link. */
class Outbox implements RoomLink {
  #news: RoomNews[] = [];
  #size = 0;
  /** The members of the beginning that were not taken yet; null after the last. */
  #members: Iterator<RoomNews> | null = null;
  readonly #arrived = new Signal();
  readonly #onFull: () => void;

  /** @param onFull is to end the link. */
  constructor(onFull: () => void) {
    this.#onFull = onFull;
  }

  get isWhole(): boolean {
    return this.#members === null;
  }

  begin(members: Iterator<RoomNews>): void {
    this.#members = members;
  }

  tell(news: RoomNews): void {
    this.#add(news);
    this.#arrived.happened();
    if (this.#size > mostWaiting) this.#onFull();
  }

  /** Takes the news, at once or when news arrive within a time; and members of the beginning, as the members are now. */
  async take(ms: number, signal?: AbortSignal): Promise<readonly RoomNews[]> {
    if (this.#news.length === 0 && this.isWhole) await this.#arrived.next(ms, signal);
    while (this.#members !== null && this.#size < mostMembers) {
      const { done, value } = this.#members.next();
      if (done === true) this.#members = null;
      else this.#add(value);
    }
    const news = this.#news;
    this.#news = [];
    this.#size = 0;
    return news;
  }

  #add(news: RoomNews): void {
    this.#news.push(news);
    this.#size += news.type === "message" ? news.text.length : JSON.stringify(news).length;
  }
}

/** A link as the leader has the link. */
interface OpenLink {
  readonly outbox: Outbox;
  readonly timer: Timer;
  readonly end: () => void;
}

/** The links of the leader, one for each replica. */
export class RoomLinks {
  readonly #rooms: () => Rooms;
  readonly #links = new Map<string, OpenLink>();

  constructor(rooms: () => Rooms) {
    this.#rooms = rooms;
  }

  /** @throws AppError `not_found` for a link that is over. */
  async answer({ link: id, kind, news }: RoomQuestion, signal: AbortSignal): Promise<RoomAnswer> {
    if (kind === "open") this.#open(id);
    const link = this.#links.get(id);
    if (link === undefined) throw new AppError("not_found", "The link is over.");
    for (const each of news) this.#rooms().take(link.outbox, each);
    if (kind === "tell") return { news: [], isWhole: false };
    link.timer.refresh();
    const told = await link.outbox.take(kind === "ask" ? pollMs : 0, signal);
    return { news: told, isWhole: link.outbox.isWhole };
  }

  #open(id: string): void {
    const outbox = new Outbox(() => {
      this.#rooms().warnOfSlowLink();
      this.#end(id);
    });
    // A replica that asks nothing for the time of a lease does not live any more.
    const timer = setTimeout(() => this.#end(id), leaseMs).unref();
    this.#links.set(id, { outbox, timer, end: this.#rooms().connect(outbox) });
  }

  #end(id: string): void {
    const link = this.#links.get(id);
    this.#links.delete(id);
    clearTimeout(link?.timer);
    link?.end();
  }
}

/** Asks the leader. */
type AskLeader = (question: RoomQuestion, signal: AbortSignal) => Promise<RoomAnswer>;

/**
 * Keeps the link of a replica to the leader, until the signal. Resolves when the members of the other instances are members here, when
 * the first link has failed, or after some seconds.
 */
export function linkRooms(rooms: Rooms, askLeader: AskLeader, stopping: AbortSignal): Promise<void> {
  const begun = Promise.withResolvers<void>();
  const keep = async (): Promise<void> => {
    while (!stopping.aborted) {
      await runLink(rooms, askLeader, { stopping, onWhole: begun.resolve }).catch(begun.resolve);
      await Bun.sleep(pauseMs);
    }
  };
  void keep();
  return Promise.race([begun.promise, Bun.sleep(leaseMs)]);
}

/** Runs a link to its end. @param on `onWhole` is called when the leader has told all members. @throws the error that ends the link. */
async function runLink(
  rooms: Rooms,
  askLeader: AskLeader,
  { stopping, onWhole }: { stopping: AbortSignal; onWhole: () => void },
): Promise<never> {
  const failed = new AbortController();
  const signal = AbortSignal.any([stopping, failed.signal]);
  const outbox = new Outbox(() => {
    rooms.warnOfSlowLink();
    failed.abort();
  });
  const id = crypto.randomUUID();
  const ask = async (kind: RoomQuestion["kind"], news: readonly RoomNews[]): Promise<void> => {
    const answer = await askLeader(
      { link: id, kind, news },
      AbortSignal.any([signal, AbortSignal.timeout(questionMs)]),
    );
    for (const each of answer.news) rooms.take(outbox, each);
    if (answer.isWhole) onWhole();
  };
  const forEver = async (step: () => Promise<void>): Promise<never> => {
    for (;;) {
      signal.throwIfAborted();
      await step();
    }
  };
  const end = rooms.connect(outbox);
  try {
    await ask("open", []);
    return await Promise.race([
      forEver(() => ask("ask", [])),
      forEver(async () => {
        const news = await outbox.take(pollMs, signal);
        if (news.length > 0) await ask("tell", news);
      }),
    ]);
  } finally {
    failed.abort();
    end();
  }
}
