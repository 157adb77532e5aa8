/**
 * The session among the tabs of a browser. Tokens stay in each tab's session storage (spec, "Authentication" 10); a new tab
 * asks the other tabs for their tokens, and a tab that renews its tokens tells the other tabs, because a refresh token works once.
 */
import type { Tokens } from "@socle/client";

type Message = { type: "ask" } | { type: "tokens"; tokens: Tokens | null };

/** How long a new tab waits for an answer: as long as a person does not notice. */
const answerWithinMs = 150;

const channel = new BroadcastChannel("socle.session");
let current: () => Tokens | null = () => null;
let adopt: (tokens: Tokens | null) => void = () => undefined;

channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
  if (data.type === "tokens") adopt(data.tokens);
  else if (current() !== null) tell(current());
});

/** Tells the other tabs. */
export function tell(tokens: Tokens | null): void {
  channel.postMessage({ type: "tokens", tokens } satisfies Message);
}

/** @param options.current answers the tokens of this tab. @param options.adopt takes the tokens of another tab; null after a sign-out. */
export function shareTokens(options: { current: () => Tokens | null; adopt: (tokens: Tokens | null) => void }): void {
  current = options.current;
  adopt = options.adopt;
}

/** Resolves once another tab has given its tokens, or when no tab answers in time. */
export function askOtherTabs(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, answerWithinMs);
    channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
      if (data.type !== "tokens") return;
      clearTimeout(timer);
      resolve();
    });
    channel.postMessage({ type: "ask" } satisfies Message);
  });
}
