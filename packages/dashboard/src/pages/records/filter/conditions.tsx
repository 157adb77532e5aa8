/** Conditions as chips, each with its form, and the button that adds a condition. */
import { Button, CloseButton, Popover, UnstyledButton } from "@mantine/core";
import { IconFilter } from "@tabler/icons-react";
import { useState } from "react";
import { text } from "../../../texts/index.ts";
import { type Condition, operatorOf, textOf } from "./builder.ts";
import { ConditionForm, operatorText } from "./condition-form.tsx";
import classes from "./filter-bar.module.css";

type FormProps = Pick<Parameters<typeof ConditionForm>[0], "fields" | "fieldOf">;

export function AddCondition({ onAdd, ...form }: FormProps & { onAdd: (condition: Condition) => void }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-start" width={260} trapFocus shadow="md" returnFocus>
      <Popover.Target>
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          leftSection={<IconFilter size={14} />}
          onClick={() => setOpen(!isOpen)}
          className={classes["add"]}
        >
          {text.records.addFilter}
        </Button>
      </Popover.Target>
      <Popover.Dropdown p={4} aria-label={text.records.addFilter}>
        <ConditionForm
          {...form}
          onSubmit={(condition) => {
            setOpen(false);
            onAdd(condition);
          }}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

export function ConditionChip(
  props: FormProps & { condition: Condition; onChange: (next: Condition) => void; onRemove: () => void },
) {
  const { condition, onChange, onRemove, ...form } = props;
  const [isOpen, setOpen] = useState(false);
  const operator = operatorOf(condition);
  const isValueless = operator === "isNull" || operator === "isNotNull";
  const value = isValueless ? "" : textOf(condition).slice(0, 60) || '""';
  const { fields, fieldOf } = form;
  const field = fields.find(({ name }) => name === condition.path) ?? fieldOf(condition.path);
  const words = operatorText(operator, field);
  const label = `${condition.path} ${words} ${value}`.trim();
  return (
    <span className={classes["chip"]}>
      <Popover opened={isOpen} onChange={setOpen} position="bottom-start" width={260} trapFocus shadow="md" returnFocus>
        <Popover.Target>
          <UnstyledButton
            className={classes["chipText"]}
            onClick={() => setOpen(!isOpen)}
            aria-label={text.records.editCondition(label)}
          >
            <span>{condition.path}</span> <span className="quiet">{words}</span>{" "}
            {value !== "" && <span className={classes["chipValue"]}>{value}</span>}
          </UnstyledButton>
        </Popover.Target>
        <Popover.Dropdown p={4} aria-label={text.records.editCondition(label)}>
          <ConditionForm
            {...form}
            condition={condition}
            onSubmit={(next) => {
              setOpen(false);
              onChange(next);
            }}
            onRemove={() => {
              setOpen(false);
              onRemove();
            }}
          />
        </Popover.Dropdown>
      </Popover>
      <CloseButton size="xs" onClick={onRemove} aria-label={text.records.removeNamed(label)} />
    </span>
  );
}
