/** Parts of the client that are loaded on use: what is opened meanwhile is opened when the part has come. */
import type { RoomHandle, RoomJoin } from "./rooms.ts";

export class Late<Part> {
  /** Undefined until the part has come. */
  part: Part | undefined;
  readonly #coming: Promise<Part>;

  constructor(coming: Promise<Part>) {
    this.#coming = coming.then((part) => {
      this.part = part;
      return part;
    });
  }

  /** Opens something at the part, at once if the part is there. Answers the function that ends what was opened. */
  open(open: (part: Part) => () => void): () => void {
    if (this.part) return open(this.part);
    let isOver = false;
    let stop: (() => void) | undefined;
    void this.#coming.then((part) => {
      if (!isOver) stop = open(part);
    });
    return () => {
      isOver = true;
      stop?.();
    };
  }
}

/** Joins a room at a part that comes; until then, the last state waits. */
export function lateRoom<Part>(
  late: Late<Part>,
  asked: RoomJoin,
  join: (part: Part, frame: RoomJoin) => RoomHandle,
): RoomHandle {
  let frame = asked;
  let handle: RoomHandle | undefined;
  const leave = late.open((part) => {
    handle = join(part, frame);
    return handle.leave;
  });
  return {
    send(action) {
      if (handle) handle.send(action);
      else if (action.action === "state") frame = { ...asked, state: action.state };
    },
    leave,
  };
}
