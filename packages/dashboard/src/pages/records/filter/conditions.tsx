/** Conditions as chips, each with its form, and the button that adds a condition. */
import { Button, CloseButton, Popover, UnstyledButton } from "@mantine/core";
import { IconFilter } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { text } from "../../../texts/index.ts";
import { type Condition, operatorOf, textOf } from "./builder.ts";
import { ConditionForm, type ConditionFormProps, operatorText } from "./condition-form.tsx";
import classes from "./filter-bar.module.css";

type FormProps = Pick<ConditionFormProps, "fields" | "fieldOf">;

interface ConditionPopoverProps extends ConditionFormProps {
  label: string;
  /** Draws the button that opens the form. */
  target: (toggle: () => void) => ReactNode;
}

function ConditionPopover({ label, target, ...form }: ConditionPopoverProps) {
  const [isOpen, setOpen] = useState(false);
  const { onSubmit, onRemove } = form;
  const close = (): void => setOpen(false);
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-start" width={260} trapFocus shadow="md" returnFocus>
      <Popover.Target>{target(() => setOpen(!isOpen))}</Popover.Target>
      <Popover.Dropdown p={4} aria-label={label}>
        <ConditionForm
          {...form}
          onSubmit={(condition) => {
            close();
            onSubmit(condition);
          }}
          {...(onRemove !== undefined && {
            onRemove: () => {
              close();
              onRemove();
            },
          })}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

export function AddCondition({ onAdd, ...form }: FormProps & { onAdd: (condition: Condition) => void }) {
  return (
    <ConditionPopover
      {...form}
      label={text.records.addFilter}
      onSubmit={onAdd}
      target={(toggle) => (
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          leftSection={<IconFilter size={14} />}
          onClick={toggle}
          className={classes["add"]}
        >
          {text.records.addFilter}
        </Button>
      )}
    />
  );
}

export function ConditionChip(
  props: FormProps & { condition: Condition; onChange: (next: Condition) => void; onRemove: () => void },
) {
  const { condition, onChange, onRemove, fields, fieldOf } = props;
  const operator = operatorOf(condition);
  const isValueless = operator === "isNull" || operator === "isNotNull";
  const value = isValueless ? "" : textOf(condition).slice(0, 60) || '""';
  const field = fields.find(({ name }) => name === condition.path) ?? fieldOf(condition.path);
  const words = operatorText(operator, field);
  const label = `${condition.path} ${words} ${value}`.trim();
  const edit = text.records.editCondition(label);
  return (
    <span className={classes["chip"]}>
      <ConditionPopover
        {...{ fields, fieldOf, condition, onRemove }}
        label={edit}
        onSubmit={onChange}
        target={(toggle) => (
          <UnstyledButton className={classes["chipText"]} onClick={toggle} aria-label={edit}>
            <span>{condition.path}</span> <span className="quiet">{words}</span>{" "}
            {value !== "" && <span className={`cut ${classes["chipValue"]}`}>{value}</span>}
          </UnstyledButton>
        )}
      />
      <CloseButton size="xs" onClick={onRemove} aria-label={text.records.removeNamed(label)} />
    </span>
  );
}
