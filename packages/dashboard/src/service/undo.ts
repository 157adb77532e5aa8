/** Undos on the service, followed to the end; and the changes of this tab, each with an undo. */
import type { ChangeOptions, UndoSelection } from "@socle/client";
import type { UndoState } from "@socle/protocol";
import { client } from "./client.ts";
import { queryClient } from "./queries.ts";
import { Store, useStore } from "./store.ts";

const pollMs = 150;
/** The most changes of this tab that are remembered; the oldest are forgotten first. */
const mostKept = 50;

/** Takes changes back. @param onProgress is called with each state until the end. @throws SocleError for changes that the log does not have. */
export async function undo(
  selection: UndoSelection,
  onProgress: (state: UndoState) => void = () => undefined,
): Promise<UndoState> {
  const { id } = await client.admin.undo.start(selection);
  for (;;) {
    const state = await client.admin.undo.get(id);
    onProgress(state);
    if (state.status !== "running") {
      // The socket tells of the changes, but not of the places of restored records in a list.
      for (const queryKey of [["records"], ["collections"]]) void queryClient.invalidateQueries({ queryKey });
      return state;
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** The outcome of an undo of a request, or of several requests. */
export type Undone = Pick<UndoState, "done" | "left" | "error">;

/** A change of records by this tab. */
export interface OwnChange {
  readonly key: string;
  /** The change in words: "title of posts changed". */
  readonly words: string;
  /** @throws SocleError; the change is then still there. */
  readonly takeBack: () => Promise<Undone>;
}

/** The newest last. */
const kept = new Store<readonly OwnChange[]>([]);
let lastKey = 0;

/** Remembers a change. Answers the change. */
export function keepChange(made: Omit<OwnChange, "key">): OwnChange {
  lastKey += 1;
  const change = { ...made, key: `change ${lastKey}` };
  keep(change);
  return change;
}

function keep(change: OwnChange): void {
  kept.set([...kept.get(), change].slice(-mostKept));
}

export function forgetChange(change: OwnChange): void {
  kept.set(kept.get().filter((each) => each !== change));
}

/** The newest change of this tab that is not taken back; undefined without a change. */
export function lastChange(): OwnChange | undefined {
  return kept.get().at(-1);
}

/** Whether a change can still be taken back. */
export function useIsKept(change: OwnChange | null | undefined): boolean {
  return useStore(kept).some((each) => each === change);
}

/** The ids of the requests of a change, and the options of the requests by which the client tells the ids. */
export class RequestIds {
  readonly #ids: string[] = [];

  readonly options: ChangeOptions = {
    onAnswer: (headers) => {
      const id = headers.get("X-Request-Id");
      // A request that was sent again has another id than the change.
      if (id !== null && !headers.has("Idempotency-Replayed")) this.#ids.push(id);
    },
  };

  get isEmpty(): boolean {
    return this.#ids.length === 0;
  }

  /** Takes the changes of the requests back, the newest first. */
  readonly takeBack = async (): Promise<Undone> => {
    const all: Undone = { done: 0, left: [], error: null };
    const states: Undone[] = [];
    for (const request of this.#ids.toReversed()) states.push(await undo({ request }));
    return states.reduce(
      (sum, { done, left, error }) => ({
        done: sum.done + done,
        left: [...sum.left, ...left],
        error: sum.error ?? error,
      }),
      all,
    );
  };
}

/** Makes a change by a request, and remembers the change. `change` is null if the request cannot be named. */
export async function makeChange<T>(
  words: string,
  send: (options: ChangeOptions) => Promise<T>,
): Promise<{ value: T; change: OwnChange | null }> {
  const ids = new RequestIds();
  const value = await send(ids.options);
  return { value, change: ids.isEmpty ? null : keepChange({ words, takeBack: ids.takeBack }) };
}

/** A single undo runs at a time: the changes are taken back in the order of the keys. */
let last: Promise<unknown> = Promise.resolve();

/** Takes a change of this tab back. A change that could not be taken back because of an error is still remembered. */
export function takeBack(change: OwnChange): Promise<Undone> {
  forgetChange(change);
  const next = last.then(change.takeBack).catch((error: unknown) => {
    keep(change);
    throw error;
  });
  last = next.catch(() => undefined);
  return next;
}
