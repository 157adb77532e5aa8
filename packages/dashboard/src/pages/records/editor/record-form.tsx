/** The fields of a record, with the notices above the fields. */
import { Alert, Button, Group, List, Text } from "@mantine/core";
import type { CollectionEntry, StoredRecord } from "@socle/protocol";
import { IconAlertTriangle, IconHistory, IconTrash, IconUsers } from "@tabler/icons-react";
import { type FocusEvent, type ReactNode, startTransition, useEffect, useMemo, useRef, useState } from "react";
import { Dim, RelativeTime, TextLink } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import classes from "./editor.module.css";
import { shownValue } from "./edits.ts";
import { FieldRow } from "./field-row.tsx";
import { UploadVisibilityProvider, uploadVisibilityOf } from "./upload-visibility.ts";
import type { RecordForm } from "./use-record-form.ts";

interface RecordFieldsProps {
  collection: CollectionEntry;
  record: StoredRecord | null;
  form: RecordForm;
  isDeleted: boolean;
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

export function RecordFields({ collection, record, form, isDeleted }: RecordFieldsProps) {
  const place = useRef<HTMLDivElement>(null);
  const { errors, failures } = form;
  const soon = useDrawn(collection.fields.length);
  // A failed save moves the focus to a field, so all fields must be drawn.
  const drawn = failures > 0 ? collection.fields.length : soon;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each failed save leads to the first error, also to the same one.
  useEffect(() => {
    if (failures === 0 || place.current === null) return;
    const first = collection.fields.find(({ name }) => errors.fields[name] !== undefined);
    if (first !== undefined) focusField(place.current, first.name);
    else place.current.querySelector<HTMLElement>("[data-general]")?.focus();
  }, [failures]);

  // A used button disappears, and the focus is lost: the effect moves the focus to the control beside the button.
  const last = useRef<{ element: Element; field: string | null } | null>(null);
  useEffect(() => {
    if (document.activeElement !== document.body || last.current === null || last.current.element.isConnected) return;
    const { field } = last.current;
    if (field !== null && place.current !== null) focusField(place.current, field);
    else place.current?.focus();
  });
  const remember = ({ target }: FocusEvent<HTMLElement>): void => {
    last.current = { element: target, field: target.closest<HTMLElement>("[data-field]")?.dataset["field"] ?? null };
  };

  const clashing = new Set(form.clashing.map(({ name }) => name));
  const changed = new Set(form.changed.map(({ name }) => name));
  const upload = useMemo(() => uploadVisibilityOf(collection), [collection]);
  return (
    <UploadVisibilityProvider value={upload}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: it only remembers which control had the focus. */}
      <div ref={place} className={classes["fields"]} tabIndex={-1} onFocus={remember}>
        <Notices form={form} isDeleted={isDeleted} />
        {collection.fields.length === 0 && (
          <Dim size="sm">
            {text.editor.noFields}{" "}
            <TextLink to="/collections/$name/schema" params={{ name: collection.name }} underline="always">
              {text.editor.editSchema}
            </TextLink>
          </Dim>
        )}
        {collection.fields.slice(0, drawn).map((field, i) => {
          const edit = form.edits[field.name];
          return (
            <FieldRow
              key={field.name}
              field={field}
              value={shownValue(field, edit, record)}
              typed={edit !== undefined && "text" in edit ? edit.text : undefined}
              isChanged={changed.has(field.name)}
              error={errors.fields[field.name]}
              theirs={clashing.has(field.name) ? (record?.[field.name] ?? null) : undefined}
              autoFocus={record === null && i === 0}
              onValue={form.setValue}
              onTyped={form.setTyped}
              onReset={form.reset}
            />
          );
        })}
        {drawn < collection.fields.length && (
          <div aria-busy="true" style={{ height: (collection.fields.length - drawn) * fieldHeight }} />
        )}
      </div>
    </UploadVisibilityProvider>
  );
}

function Notices({ form, isDeleted }: { form: RecordForm; isDeleted: boolean }) {
  const { errors, clashing, draft } = form;
  const names = clashing.map(({ name }) => name).join(", ");
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
          actions={
            <Button size="compact-sm" variant="default" onClick={form.discard}>
              {text.schema.discard}
            </Button>
          }
        />
      )}
      {isDeleted && (
        <Notice isLive color="orange" icon={<IconTrash size={18} />} title={text.editor.goneElsewhere}>
          {text.editor.goneElsewhereBody}
        </Notice>
      )}
      {!isDeleted && clashing.length > 0 && (
        <Notice
          isLive
          color="orange"
          icon={<IconUsers size={18} />}
          title={text.editor.conflictTitle}
          actions={
            <>
              <Button size="compact-sm" variant="default" onClick={form.takeTheirs}>
                {text.editor.takeTheirs}
              </Button>
              <Button size="compact-sm" variant="default" onClick={form.keepMine}>
                {text.editor.keepMine}
              </Button>
            </>
          }
        >
          {text.editor.conflictBody(names)}
        </Notice>
      )}
      {draft.isTooLarge && (
        <Notice color="orange" icon={<IconAlertTriangle size={18} />} title={text.editor.draftTooLarge} />
      )}
      {errors.general.length > 0 && (
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
            {errors.general.map((message) => (
              <List.Item key={message}>{message}</List.Item>
            ))}
          </List>
          {errors.requestId !== null && (
            <TextLink to="/logs" search={{ search: errors.requestId ?? "" }} underline="always">
              {text.errors.inLog}
            </TextLink>
          )}
        </Alert>
      )}
    </>
  );
}

interface NoticeProps {
  icon: ReactNode;
  title: ReactNode;
  color?: string;
  /** Whether the notice may appear while the user types further down: the notice then stays in view. */
  isLive?: boolean;
  actions?: ReactNode;
  children?: ReactNode;
}

function Notice({ icon, title, color = "verdigris", isLive = false, actions, children }: NoticeProps) {
  return (
    <Alert
      color={color}
      variant="outline"
      className={classes["notice"] ?? ""}
      data-live={isLive || undefined}
      p="sm"
      role="status"
      icon={icon}
      classNames={{ message: classes["message"] ?? "" }}
    >
      <Group justify="space-between" gap="xs">
        <div className={classes["noticeText"]}>
          <Text size="sm" fw={550} component="div">
            {title}
          </Text>
          {children !== undefined && <Text size="sm">{children}</Text>}
        </div>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
    </Alert>
  );
}
