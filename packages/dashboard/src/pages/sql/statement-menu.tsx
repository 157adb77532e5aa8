/** The menu of the last and the saved statements, and the form that saves a statement. */
import { Modal, Popover, Stack, Text, TextInput, UnstyledButton } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { IconHistory, IconTrash } from "../../icons/index.ts";
import { Action, Dim, Form, FormFoot, IconAction } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import classes from "./sql.module.css";
import type { useStatements } from "./statements.ts";

const words = text.sql;

type Statements = ReturnType<typeof useStatements>;

export function StatementMenu({ statements, onOpen }: { statements: Statements; onOpen: (sql: string) => void }) {
  const [isOpen, setOpen] = useState(false);
  const { last, saved, remove } = statements;
  const open = (sql: string): void => {
    setOpen(false);
    onOpen(sql);
  };
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-end" width={420} withinPortal trapFocus returnFocus>
      <Popover.Target>
        <Action icon={IconHistory} label={words.open} onClick={() => setOpen(!isOpen)} />
      </Popover.Target>
      <Popover.Dropdown className={classes["menu"] ?? ""}>
        <List title={words.saved}>
          {saved.map(({ name, sql }) => (
            <li key={name} className={classes["savedItem"]}>
              <Opener label={name} sql={sql} onOpen={open} />
              <IconAction icon={IconTrash} iconSize={14} label={words.remove(name)} onClick={() => remove(name)} />
            </li>
          ))}
        </List>
        <List title={words.last}>
          {last.map((sql) => (
            <li key={sql}>
              <Opener label={sql.replaceAll(/\s+/g, " ")} sql={sql} onOpen={open} isMono />
            </li>
          ))}
        </List>
        <Dim p={8}>{saved.length + last.length === 0 ? words.none : words.kept}</Dim>
      </Popover.Dropdown>
    </Popover>
  );
}

/** A list under its title; nothing without an item. */
function List({ title, children }: { title: string; children: readonly ReactNode[] }) {
  if (children.length === 0) return null;
  return (
    <>
      <Text component="h2" size="xs" fw={600} c="dimmed" m={0} p={8} pb={2}>
        {title}
      </Text>
      <ul className="plain">{children}</ul>
    </>
  );
}

function Opener(props: { label: string; sql: string; onOpen: (sql: string) => void; isMono?: boolean }) {
  const { label, sql, onOpen, isMono = false } = props;
  return (
    <UnstyledButton
      className={`${classes["statement"]} ${isMono ? "mono" : ""}`}
      title={sql}
      onClick={() => onOpen(sql)}
    >
      {label}
    </UnstyledButton>
  );
}

interface SaveDialogProps {
  isOpen: boolean;
  sql: string;
  statements: Statements;
  onClose: () => void;
}

export function SaveDialog({ isOpen, sql, statements, onClose }: SaveDialogProps) {
  const [name, setName] = useState("");
  const save = (): void => {
    if (name.trim() === "") return;
    statements.save({ name: name.trim(), sql });
    setName("");
    onClose();
  };
  return (
    <Modal opened={isOpen} onClose={onClose} title={words.saveTitle}>
      <Form onSubmit={save}>
        <Stack>
          <TextInput
            label={words.name}
            required
            withAsterisk={false}
            maxLength={80}
            autoComplete="off"
            data-autofocus
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Dim>{statements.saved.some((each) => each.name === name.trim()) ? words.replaces : words.kept}</Dim>
          <FormFoot label={words.save} isBusy={false} onCancel={onClose} />
        </Stack>
      </Form>
    </Modal>
  );
}
