/**
 * Session of a client: the tokens of a user, in memory and in a store that other tabs may share. A session ends by a sign-out, or when
 * the service refuses the refresh token; never because an answer was lost, the service is away, or a clock is wrong.
 */
import type { TokenResponse } from "@socle/protocol";
import { isUnauthorized, SocleError } from "./error.ts";
import { wait } from "./idempotency.ts";
import { type Observable, Observed } from "./observable.ts";

export type Tokens = Pick<TokenResponse, "accessToken" | "refreshToken">;

interface Named extends Partial<Tokens> {
  readonly userId?: string | undefined;
  /** Tells the session from other sessions of the user. */
  readonly id?: number | string | undefined;
}

/** A session as a client has the session. The refresh token is absent in a page whose server keeps the session. */
export interface HeldSession extends Named {
  readonly accessToken: string;
}

/** A place for the text of a session. `load` and `save` may answer promises. */
export interface SessionStore {
  /** The text that was saved last; null without a session. Called again before each renewal of the tokens. */
  load(): string | null | PromiseLike<string | null>;
  /** Keeps a text; null when the session is over. */
  save(text: string | null): void | PromiseLike<void>;
  /** For a store that others change, too: calls back after each such change. May answer the function that ends the calls. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a store of an application may answer nothing.
  watch?(changed: () => void): (() => void) | void;
  /** For a store that others renew, too: does the work of all of them one after the other. */
  exclusive?(work: () => Promise<void>): Promise<void>;
  /** Called at first, with the address of the service. */
  open?(baseUrl: string): void;
  /** Why nobody signs in with this store: the message of the error. */
  readonly refuses?: string;
}

/** `local` and `tab` are places of a browser: for all tabs, also after a restart, and for a tab until the tab is closed. */
export type SessionOption = "local" | "tab" | "memory" | SessionStore;

/** The user who is signed in. */
export interface SessionUser {
  /** Undefined for tokens that the application has brought. */
  readonly userId: string | undefined;
}

/** A store of this client alone. @param saved hears of each change, with the session. */
export function memoryStore(text: string | null, saved?: (tokens: Tokens | null) => void): SessionStore {
  let kept = text;
  return {
    load: () => kept,
    save(next) {
      const isNew = kept !== next;
      kept = next;
      if (isNew) saved?.(JSON.parse(next ?? "null"));
    },
  };
}

/** The text of a session. */
export const textOf = (session: HeldSession | null): string | null => session && JSON.stringify(session);

/** Tells sessions apart; the same for a session with renewed tokens. */
const nameOf = (session: HeldSession | null): string | null => session && `${session.userId} ${session.id}`;

/** The session of a text; null for a text that is damaged. */
function sessionIn(text: string | null): HeldSession | null {
  try {
    const session: HeldSession | null = JSON.parse(text ?? "null");
    return session?.accessToken ? session : null;
  } catch {
    return null;
  }
}

/** Whether the service itself ends a session: a page comes from a proxy, or from a network that asks to sign in. */
export function isRefusal(thrown: unknown): boolean {
  return isUnauthorized(thrown) && !/^\s*</.test(String(thrown.body));
}

/** The session of a client. */
export interface Session {
  /** Undefined until an asynchronous store has answered. Changes with a sign-in and the end of a session, not with renewed tokens. */
  readonly user: Observable<SessionUser | null | undefined>;
  readonly tokens: HeldSession | null;
  /** Resolves once the store has answered. @throws SocleError of a store that asks a service; the next call asks again. */
  loaded(): Promise<void>;
  /** Takes a session with tokens, or null at the end, and saves. With a synchronous store, at once. */
  keep(session: Named | null, tokens?: Tokens | null): Promise<void>;
  /** Takes the session of a sign-in, after a renewal of another tab: else the renewed tokens of the former user could come later. */
  begin(session: Named, tokens: Tokens): Promise<void>;
  /**
   * Renews tokens that were refused, once for all callers and all tabs. Answers whether the same user has other tokens now.
   * @throws SocleError if the service does not answer: the session stays.
   */
  renew(used: HeldSession): Promise<boolean>;
  /** Ends a session, also with renewed tokens. The session of a sign-in that came meanwhile stays. */
  end(ended: HeldSession | null): Promise<void>;
  /** Ends the hearing of changes that others make; undefined for a store that nobody else changes. */
  readonly close: (() => void) | undefined;
}

/** Whether a time is near now. The clock of the device may have been set since. */
export function isWithin(ms: number, time: number): boolean {
  return Math.abs(Date.now() - time) < ms;
}

/** Milliseconds within which a refresh and a sign-out must be answered. A tab that waits longer for a turn goes on: another tab may sleep in a turn. The service bears two renewals at once. */
export const longestTurnMs = 15_000;

/** Makes the session of a client. @param refresh exchanges a refresh token. */
export function openSession(store: SessionStore, refresh: (refreshToken: string) => Promise<Tokens>): Session {
  const user = new Observed<SessionUser | null | undefined>(undefined);
  let place = store;
  let held: HeldSession | null = null;
  let renewing: Promise<void> | undefined;
  /** The last save of a store that answers later: a save begins after the save before. */
  let saving: PromiseLike<void> | undefined;
  /** Of the session that the listeners know. */
  let known: string | null | undefined;

  /** Tells the listeners if somebody else is signed in, or nobody. */
  const tell = (): void => {
    const name = nameOf(held);
    if (name === known) return;
    known = name;
    user.set(held && { userId: held.userId });
  };

  /** Goes on without the store, which is full or forbidden. @throws SocleError of a store that asks a service, and may answer later. */
  const fallBack = (thrown: unknown): void => {
    if (thrown instanceof SocleError) throw thrown;
    console.warn(`The session is kept in memory alone: ${thrown}`);
    place = memoryStore(textOf(held));
  };

  const keep: Session["keep"] = async (session, tokens) => {
    held = tokens ? { ...session, accessToken: tokens.accessToken, refreshToken: tokens.refreshToken } : null;
    const save = (): void | PromiseLike<void> => place.save(textOf(held));
    try {
      const saved = saving ? saving.then(save) : save();
      saving = saved?.then(undefined, () => undefined);
      if (saved) await saved;
    } catch (thrown) {
      fallBack(thrown);
    } finally {
      // A listener may leave the page: the store has the change before.
      tell();
    }
  };

  /** Takes the session that the store has. */
  const load = async (): Promise<void> => {
    const before = held;
    try {
      if (saving) await saving;
      const loaded = place.load();
      const text = typeof loaded === "object" ? loaded && (await loaded) : loaded;
      // A sign-in that came meanwhile is newer.
      if (before === held) held = sessionIn(text);
    } catch (thrown) {
      // A store that has answered before may answer again.
      if (known === undefined) fallBack(thrown);
      else if (place === store) throw thrown;
    }
    tell();
  };

  /** @param askedAt the time at which the renewal was asked for; 0 for the second try of a page that slept during the first try. */
  const renewOnce = async (isUsed: () => boolean, askedAt: number): Promise<void> => {
    let at = askedAt;
    // Other tabs do not wait for the turn of a page that sleeps, and a page that awakes may go on before the changes of other tabs arrive.
    while (!isWithin(5_000, at)) {
      at = Date.now();
      await wait(1_000);
    }
    // Another tab may have renewed the tokens, or signed out, and the message of the change may be under way.
    await load();
    if (!held?.refreshToken || !isUsed()) return;
    const session = held;
    let renewed: Tokens | null = null;
    try {
      renewed = await refresh(held.refreshToken);
    } catch (thrown) {
      if (!isRefusal(thrown)) throw thrown;
    }
    // The service takes a refresh token again within ten seconds of the last use: after a sleep, a new use begins the ten seconds anew, for
    // other tabs that renew at this moment.
    if (askedAt && !isWithin(5_000, at)) return renewOnce(isUsed, 0);
    // A sign-in or a sign-out that came meanwhile is newer than this answer, and so are the tokens of another tab.
    await load();
    if (isUsed()) await keep(session, renewed);
  };

  const inTurn = (work: () => Promise<void>): Promise<void> => place.exclusive?.(work) ?? work();

  // A store that asks a service may fail: the next request asks again.
  const look = (): void => void load().catch(() => undefined);
  look();
  return {
    user,
    get tokens() {
      return held;
    },
    async loaded() {
      if (known === undefined) await load();
    },
    keep,
    async end(ended) {
      if (nameOf(held) === nameOf(ended)) await keep(null);
    },
    begin: (session, tokens) => inTurn(() => keep(session, tokens)),
    async renew(used) {
      const isUsed = (): boolean => held?.accessToken === used.accessToken;
      if (isUsed()) {
        const askedAt = Date.now();
        renewing ??= inTurn(() => renewOnce(isUsed, askedAt)).finally(() => {
          renewing = undefined;
        });
        await renewing;
      }
      return held !== null && !isUsed() && held.userId === used.userId;
    },
    close: store.watch?.(look) || undefined,
  };
}
