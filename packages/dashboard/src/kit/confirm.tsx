/** A question before something is destroyed. */
import { Button, Code, Group, Stack, Text, TextInput } from "@mantine/core";
import { modals } from "@mantine/modals";
import { type FormEvent, type ReactNode, useState } from "react";
import { text } from "../texts/index.ts";
import { messageOf } from "./states.tsx";
import { Complaint } from "./words.tsx";

interface Question {
  title: string;
  body: ReactNode;
  /** The button's label: the deed by its name, "Delete 3 records". */
  action: string;
  /** A word to type first, for a deed without an undo. */
  typed?: string;
  /** When this rejects, the dialog stays open and shows the error. */
  onConfirm: () => Promise<unknown> | unknown;
}

/** Opens the dialog. */
export function confirmDanger(question: Question): void {
  const id = modals.open({
    title: question.title,
    children: <Confirmation question={question} onClose={() => modals.close(id)} />,
  });
}

function Confirmation({ question, onClose }: { question: Question; onClose: () => void }) {
  const { body, action, typed, onConfirm } = question;
  const [word, setWord] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
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
        {typed !== undefined && (
          <TextInput
            label={
              <>
                {text.common.typeToConfirm} <Code>{typed}</Code>
              </>
            }
            value={word}
            onChange={(event) => setWord(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
        )}
        {error !== null && <Complaint>{error}</Complaint>}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} disabled={isBusy}>
            {text.common.cancel}
          </Button>
          <Button
            type="submit"
            color="red.8"
            loading={isBusy}
            disabled={!isAllowed}
            data-autofocus={typed === undefined}
          >
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
