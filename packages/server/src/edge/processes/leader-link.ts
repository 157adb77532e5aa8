/** Leader link: a reader process's side of the link: the commits, the events, the requests that the leader answers, and the messages. */
import { type Channel, channelOver, Link, type LinkFrame, messageIn } from "../../base/channel/index.ts";
import type { ForwardRequest } from "../http/index.ts";
import { type CommitHead, type EventsHead, kinds } from "./frames.ts";
import type { ForLeader, ForReader } from "./messages.ts";
import { linkDescriptor } from "./reader-process.ts";
import { RequestPasser } from "./request-passer.ts";

export interface LeaderLinkOptions {
  readonly answers: Readonly<ForReader>;
  readonly addressOf: (request: Request) => string;
  readonly keepOpen: (request: Request, over: Promise<unknown>) => void;
  readonly onCommit: (commit: CommitHead) => void;
  readonly onEvents: (events: EventsHead) => void;
  /** The leader has ended. */
  readonly onClosed: () => void;
  /** A frame could not be handled: the process does not follow any more, and must end. */
  readonly onError: (thrown: unknown) => void;
}

export class LeaderLink {
  readonly channel: Channel<ForLeader, ForReader>;
  readonly passOn: ForwardRequest;
  readonly #link: Link;
  readonly #passer: RequestPasser;

  private constructor(link: Link, options: LeaderLinkOptions) {
    this.#link = link;
    this.channel = channelOver(link, { kind: kinds.channel, ours: options.answers });
    this.#passer = new RequestPasser({ ...options, link });
    this.passOn = this.#passer.passOn;
  }

  static async open(options: LeaderLinkOptions): Promise<LeaderLink> {
    // A frame may come before the link is returned.
    const early: LinkFrame[] = [];
    let take = (frame: LinkFrame): void => void early.push(frame);
    const { onClosed, onError } = options;
    const link = await Link.open(linkDescriptor, { onFrame: (frame) => take(frame), onClosed, onError });
    const opened = new LeaderLink(link, options);
    take = (frame) => opened.#take(frame, options);
    for (const frame of early) take(frame);
    return opened;
  }

  #take(frame: LinkFrame, { onCommit, onEvents }: LeaderLinkOptions): void {
    if (frame.kind === kinds.commit) onCommit(JSON.parse(frame.head) as CommitHead);
    else if (frame.kind === kinds.events) onEvents(JSON.parse(frame.head) as EventsHead);
    else if (frame.kind === kinds.channel) this.channel.receive(messageIn(frame));
    else this.#passer.take(frame);
  }

  /** Tells the leader at once that reads and state have the commit. */
  has(position: number): void {
    this.#link.send({ kind: kinds.has, head: String(position) });
    this.#link.flush();
  }
}
