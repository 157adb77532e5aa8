/** A question before something is destroyed. */
import { Stack, Text } from "@mantine/core";
import { modals } from "@mantine/modals";
import { type FormEvent, type ReactNode, useState } from "react";
import { useFirstFocus } from "./focus.ts";
import { FormFoot, TypedWord } from "./form-foot.tsx";
import { messageOf } from "./states.tsx";
import { Complaint } from "./words.tsx";

interface Deed {
  body: ReactNode;
  /** The button's label: the deed by its name, "Delete 3 records". */
  action: string;
  /** A word to type first, for a deed without an undo. */
  typed?: string;
  /** When this rejects, the dialog stays open and shows the error. */
  onConfirm: () => Promise<unknown> | unknown;
}

interface Question extends Deed {
  title: string;
}

/** Opens the dialog. */
export function confirmDanger({ title, ...deed }: Question): void {
  const id = modals.open({
    title,
    children: <Confirmation {...deed} onClose={() => modals.close(id)} />,
  });
}

/** The form of the question, for a dialog that is open. */
export function Confirmation({ body, action, typed, onConfirm, onClose }: Deed & { onClose: () => void }) {
  const [word, setWord] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const field = useFirstFocus<HTMLInputElement>();
  const isAllowed = typed === undefined || word === typed;

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!isAllowed) return;
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (thrown) {
      setError(messageOf(thrown));
      setBusy(false);
    }
  };

  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm" component="div">
          {body}
        </Text>
        {typed !== undefined && <TypedWord ref={field} word={typed} value={word} onChange={setWord} />}
        {error !== null && <Complaint>{error}</Complaint>}
        <FormFoot
          label={action}
          isBusy={isBusy}
          onCancel={onClose}
          color="red.8"
          disabled={!isAllowed}
          data-autofocus={typed === undefined}
        />
      </Stack>
    </form>
  );
}
