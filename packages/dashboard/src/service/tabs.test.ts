/** The question of a new tab for the session of another tab leaves no listener behind. */
import { expect, test } from "bun:test";

test("a tab that nobody answers has the listeners of before", async () => {
  const { BroadcastChannel } = globalThis;
  const heard: unknown[] = [];
  class Channel {
    readonly addEventListener = (_type: string, listener: unknown): void => void heard.push(listener);
    readonly removeEventListener = (_type: string, listener: unknown): void =>
      void heard.splice(heard.indexOf(listener), 1);
    readonly postMessage = (): void => undefined;
  }
  Object.assign(globalThis, { BroadcastChannel: Channel });
  // A copy of the module for this test: another test file of the process may have loaded the module with the channel of the runtime.
  const copy: string = "./tabs.ts?copy";
  const { askOtherTabs }: typeof import("./tabs.ts") = await import(copy);
  Object.assign(globalThis, { BroadcastChannel });
  const before = [...heard];
  const asking = askOtherTabs();
  expect([before.length, heard.length]).toEqual([1, 2]);
  await asking;
  expect(heard).toEqual(before);
});
