/** The button that deletes an API key: a service key, or a key of a user. */
import type { ApiKey } from "@socle/protocol";
import { Action, confirmDanger, notifyDone } from "../../kit/index.ts";
import { unlessGone } from "../../service/refusals.ts";
import { text } from "../../texts/index.ts";

interface DeleteKeyProps {
  apiKey: ApiKey;
  send: () => Promise<void>;
  onDeleted: () => Promise<void>;
}

/** A key that is gone meanwhile counts as deleted. */
export function DeleteKey({ apiKey: { name }, send, onDeleted }: DeleteKeyProps) {
  const ask = (): void =>
    confirmDanger({
      title: text.keys.deleteTitle(name),
      body: text.keys.deleteBody,
      action: text.keys.deleteAction,
      onConfirm: async () => {
        await unlessGone(send());
        notifyDone(text.keys.deleted(name));
        await onDeleted();
      },
    });
  return (
    <Action label={text.keys.delete} aria-label={text.keys.deleteOf(name)} size="compact-xs" isQuiet onClick={ask} />
  );
}
