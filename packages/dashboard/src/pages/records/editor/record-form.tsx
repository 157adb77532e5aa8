/** The fields of a record, and the focus that follows errors and used buttons. */
import { Alert, Box, Group, List, Text } from "@mantine/core";
import type { CollectionEntry, FieldDefinition, JsonValue, StoredRecord } from "@socle/protocol";
import {
  type FocusEvent,
  memo,
  type ReactNode,
  type RefObject,
  startTransition,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { IconAlertTriangle, IconArrowBackUp, IconHistory, IconTrash, IconUsers } from "../../../icons/index.ts";
import { Action, Dim, IconAction, RelativeTime, TextLink } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import { ChangedField, UploadVisibilityContext, uploadVisibilityOf } from "./controls/control.tsx";
import classes from "./editor.module.css";
import { shownValue } from "./edits.ts";
import { FieldControl } from "./field-control.tsx";
import { shortValue } from "./naming.ts";
import type { RecordForm, SaveErrors } from "./use-record-form.ts";

interface RecordFieldsProps {
  collection: CollectionEntry;
  record: StoredRecord | null;
  form: RecordForm;
  isDeleted: boolean;
  /** Whether the first field of a new record takes the focus. */
  hasFocus?: boolean;
}

const focusable =
  'input:not([tabindex="-1"]), textarea, button:not([tabindex="-1"]), [contenteditable="true"], [tabindex="0"]';

/** Scrolls a field into view and focuses its control. */
function focusField(place: HTMLElement, name: string): void {
  const row = place.querySelector<HTMLElement>(`[data-field="${name}"]`);
  // The reset button of the field comes before its control in the page.
  const control = [...(row?.querySelectorAll<HTMLElement>(focusable) ?? [])].find(
    (element) => element.closest(`.${classes["reset"]}`) === null,
  );
  control?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "nearest" });
}

/** Fields that are drawn first, and added with each further step: about a screen. */
const stepFields = 16;
/** Estimated pixels of a field that is not drawn yet. */
const fieldHeight = 78;

/** The number of fields to draw. The first screen appears at once, with any number of further fields. */
function useDrawn(total: number): number {
  const [drawn, setDrawn] = useState(stepFields);
  useEffect(() => {
    if (drawn >= total) return undefined;
    const timer = setTimeout(() => startTransition(() => setDrawn(drawn + stepFields)), 0);
    return () => clearTimeout(timer);
  }, [drawn, total]);
  return Math.min(drawn, total);
}

export function RecordFields({ collection, record, form, isDeleted, hasFocus = true }: RecordFieldsProps) {
  const { fields } = collection;
  const place = useRef<HTMLDivElement>(null);
  const soon = useDrawn(fields.length);
  // A failed save moves the focus to a field, so all fields must be drawn.
  const drawn = form.failure === null ? soon : fields.length;
  useFailureFocus(place, fields, form.failure);
  const remember = useKeptFocus(place);
  const upload = useMemo(() => uploadVisibilityOf(collection), [collection]);
  return (
    <UploadVisibilityContext value={upload}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: it only remembers which control had the focus. */}
      <div ref={place} className={classes["fields"]} tabIndex={-1} onFocus={remember}>
        <FormNotices form={form} isDeleted={isDeleted} />
        {fields.length === 0 && (
          <Dim size="sm">
            {text.editor.noFields}{" "}
            <TextLink to="/collections/$name/schema" params={{ name: collection.name }} underline="always">
              {text.editor.editSchema}
            </TextLink>
          </Dim>
        )}
        {fields.slice(0, drawn).map((field, i) => {
          const edit = form.edits[field.name];
          return (
            <FieldRow
              key={field.name}
              field={field}
              value={shownValue(field, edit, record)}
              typed={edit !== undefined && "text" in edit ? edit.text : undefined}
              isChanged={form.changed.includes(field)}
              error={form.errorAt(field.name)}
              theirs={form.clashing.includes(field) ? (record?.[field.name] ?? null) : undefined}
              autoFocus={hasFocus && record === null && i === 0}
              onChange={form.change}
              onReset={form.reset}
            />
          );
        })}
        {drawn < fields.length && <div aria-busy="true" style={{ height: (fields.length - drawn) * fieldHeight }} />}
      </div>
    </UploadVisibilityContext>
  );
}

/** Moves the focus to the first error of a failed save. */
function useFailureFocus(
  place: RefObject<HTMLElement | null>,
  fields: readonly FieldDefinition[],
  failure: RecordForm["failure"],
): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a failed save is a reason.
  useEffect(() => {
    if (failure === null || place.current === null) return;
    const first = fields.find(({ name }) => failure.errors.fields[name] !== undefined);
    if (first !== undefined) focusField(place.current, first.name);
    else place.current.querySelector<HTMLElement>("[data-general]")?.focus();
  }, [failure]);
}

/** A used button disappears, and the focus is lost: the hook moves the focus to the control beside the button. */
function useKeptFocus(place: RefObject<HTMLElement | null>): (event: FocusEvent<HTMLElement>) => void {
  const last = useRef<{ element: Element; field: string | undefined } | null>(null);
  useEffect(() => {
    if (document.activeElement !== document.body || last.current === null || last.current.element.isConnected) return;
    const { field } = last.current;
    if (field !== undefined && place.current !== null) focusField(place.current, field);
    else place.current?.focus();
  });
  return ({ target }) => {
    last.current = { element: target, field: target.closest<HTMLElement>("[data-field]")?.dataset["field"] };
  };
}

interface FieldRowProps {
  field: FieldDefinition;
  value: JsonValue;
  /** The typed text, for json. */
  typed: string | undefined;
  isChanged: boolean;
  error: string | undefined;
  /** The other user's value, if another user has changed the field meanwhile. */
  theirs: JsonValue | undefined;
  autoFocus: boolean;
  onChange: RecordForm["change"];
  onReset: RecordForm["reset"];
}

/** A form may have a hundred fields: a row is drawn again only when its own field changes. */
const FieldRow = memo(function FieldRow(props: FieldRowProps) {
  const { field, value, typed, isChanged, error, theirs, autoFocus, onChange, onReset } = props;
  return (
    <div className={classes["row"]} data-field={field.name} data-changed={isChanged || undefined}>
      {isChanged && (
        <div className={classes["reset"]}>
          <IconAction
            icon={IconArrowBackUp}
            iconSize={14}
            tip={text.editor.reset(field.name)}
            label={text.editor.reset(field.name)}
            color="verdigris"
            size="xs"
            onClick={() => onReset(field)}
          />
        </div>
      )}
      <ChangedField value={isChanged}>
        <FieldControl
          field={field}
          value={value}
          label={field.name}
          error={error}
          autoFocus={autoFocus}
          onChange={(next) => onChange(field, { value: next })}
          typed={typed}
          onTyped={(next) => onChange(field, { text: next })}
        />
      </ChangedField>
      {theirs !== undefined && (
        <Text size="xs" mt={6} style={{ overflowWrap: "anywhere" }}>
          {text.editor.theirs} <span className="mono">{shortValue(theirs, 200)}</span>
        </Text>
      )}
    </div>
  );
});

function FormNotices({ form, isDeleted }: { form: RecordForm; isDeleted: boolean }) {
  const { failure, clashing, draft } = form;
  return (
    <>
      {draft.restoredAt !== null && (
        <Notice
          icon={<IconHistory size={18} />}
          title={
            <>
              {text.editor.restored} <RelativeTime at={draft.restoredAt} />
            </>
          }
          actions={[[text.schema.discard, form.discard]]}
        />
      )}
      {isDeleted && (
        <Notice isWarning icon={<IconTrash size={18} />} title={text.editor.goneElsewhere}>
          {text.editor.goneElsewhereBody}
        </Notice>
      )}
      {!isDeleted && clashing.length > 0 && (
        <Notice
          isWarning
          icon={<IconUsers size={18} />}
          title={text.editor.conflictTitle}
          actions={[
            [text.editor.takeTheirs, form.takeTheirs],
            [text.editor.keepMine, form.keepMine],
          ]}
        >
          {text.editor.conflictBody(clashing.map(({ name }) => name).join(", "))}
        </Notice>
      )}
      {draft.isTooLarge && (
        <Notice isWarning icon={<IconAlertTriangle size={18} />} title={text.editor.draftTooLarge} />
      )}
      {failure !== null && failure.errors.general.length > 0 && <GeneralErrors errors={failure.errors} />}
    </>
  );
}

/** The errors without a field. */
function GeneralErrors({ errors: { general, requestId } }: { errors: SaveErrors }) {
  return (
    <Alert
      data-general
      tabIndex={-1}
      color="red"
      variant="light"
      role="alert"
      p="sm"
      icon={<IconAlertTriangle aria-hidden />}
      title={text.editor.notSaved}
    >
      <List size="sm" listStyleType="none">
        {general.map((message) => (
          <List.Item key={message}>{message}</List.Item>
        ))}
      </List>
      {requestId !== null && (
        <TextLink to="/logs" search={{ search: requestId }} underline="always">
          {text.errors.inLog}
        </TextLink>
      )}
    </Alert>
  );
}

interface NoticeProps {
  icon: ReactNode;
  title: ReactNode;
  /** Whether the notice may appear while the user types further down: the notice then stays in view. */
  isWarning?: boolean;
  actions?: readonly (readonly [label: string, action: () => void])[];
  children?: ReactNode;
}

function Notice({ icon, title, isWarning = false, actions = [], children }: NoticeProps) {
  return (
    <Alert
      color={isWarning ? "orange" : "verdigris"}
      variant="outline"
      className={classes["notice"] ?? ""}
      data-live={isWarning || undefined}
      p="sm"
      role="status"
      icon={icon}
      styles={{ message: { margin: 0 } }}
    >
      <Group justify="space-between" gap="xs">
        <Box flex="1 1 200px" miw={0}>
          <Text size="sm" fw={550} component="div">
            {title}
          </Text>
          {children !== undefined && <Text size="sm">{children}</Text>}
        </Box>
        <Group gap="xs">
          {actions.map(([label, action]) => (
            <Action key={label} label={label} size="compact-sm" onClick={action} />
          ))}
        </Group>
      </Group>
    </Alert>
  );
}
