/** The end of a form in a dialog: the word to type before a loss, and the buttons that cancel and submit. */
import { Button, type ButtonProps, Code, Group, TextInput } from "@mantine/core";
import type { Ref } from "react";
import { text } from "../texts/index.ts";

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
