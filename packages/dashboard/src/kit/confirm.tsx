/** A question before something is destroyed or lost, and the end of a form in a dialog. */
import { Button, type ButtonProps, Code, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { modals } from "@mantine/modals";
import { useBlocker } from "@tanstack/react-router";
import { type ComponentPropsWithoutRef, type ReactNode, type Ref, useState } from "react";
import { text } from "../texts/index.ts";
import { useFirstFocus } from "./focus.ts";
import { messageOf } from "./states.tsx";
import { Complaint } from "./words.tsx";

interface Deed {
  body: ReactNode;
  /** The button's label: the deed by its name, "Delete 3 records". */
  action: string;
  /** A word to type first, for a deed without an undo. */
  typed?: string;
  /** Whether the deed would change nothing: the button is then off. */
  isPointless?: boolean;
  /** When this rejects, the dialog stays open and shows the error. */
  onConfirm: () => Promise<unknown> | unknown;
}

/** Opens the dialog. */
export function confirmDanger({ title, ...deed }: Deed & { title: string }): void {
  const id = modals.open({
    title,
    children: <Confirmation {...deed} onClose={() => modals.close(id)} />,
  });
}

/** The form of the question, for a dialog that is open. */
export function Confirmation({
  body,
  action,
  typed,
  isPointless = false,
  onConfirm,
  onClose,
}: Deed & { onClose: () => void }) {
  const [word, setWord] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const field = useFirstFocus<HTMLInputElement>();
  const isAllowed = !isPointless && (typed === undefined || word === typed);

  const submit = async (): Promise<void> => {
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
    <Form onSubmit={submit}>
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
    </Form>
  );
}

/** A form that the browser does not send. */
export function Form({
  onSubmit,
  ...form
}: Omit<ComponentPropsWithoutRef<"form">, "onSubmit"> & { onSubmit: () => unknown }) {
  const submit = (event: { preventDefault: () => void }): void => {
    event.preventDefault();
    onSubmit();
  };
  return <form onSubmit={submit} {...form} />;
}

interface TypedWordProps {
  /** The word to type. */
  word: string;
  value: string;
  onChange: (value: string) => void;
  disabled?: boolean;
  ref?: Ref<HTMLInputElement>;
}

export function TypedWord({ word, onChange, ...input }: TypedWordProps) {
  return (
    <TextInput
      label={
        <>
          {text.common.typeToConfirm} <Code>{word}</Code>
        </>
      }
      onChange={(event) => onChange(event.currentTarget.value)}
      autoComplete="off"
      data-autofocus
      {...input}
    />
  );
}

interface FormFootProps extends ButtonProps {
  label: string;
  isBusy: boolean;
  onCancel: () => void;
  ref?: Ref<HTMLButtonElement> | undefined;
  "data-autofocus"?: boolean;
}

export function FormFoot({ label, isBusy, onCancel, size = "sm", ...submit }: FormFootProps) {
  return (
    <Group justify="flex-end">
      <Button variant="default" size={size} onClick={onCancel} disabled={isBusy}>
        {text.common.cancel}
      </Button>
      <Button type="submit" size={size} loading={isBusy} {...submit}>
        {label}
      </Button>
    </Group>
  );
}

interface LeaveGuardProps {
  isActive: boolean;
  title: string;
  body: string;
  /** The label of the button that leaves. */
  action: string;
}

export function LeaveGuard({ isActive, title, body, action }: LeaveGuardProps) {
  const blocker = useBlocker({
    // Another filter or an open drawer is the same page.
    shouldBlockFn: ({ current, next }) => isActive && current.pathname !== next.pathname,
    enableBeforeUnload: () => isActive,
    withResolver: true,
  });
  return (
    <Modal opened={blocker.status === "blocked"} onClose={() => blocker.reset?.()} title={title}>
      <Stack>
        <Text size="sm">{body}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={() => blocker.reset?.()} data-autofocus>
            {text.common.stay}
          </Button>
          <Button color="red.8" onClick={() => blocker.proceed?.()}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
