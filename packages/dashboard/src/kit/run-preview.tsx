/** Preview of a run: the effects that the run would have with the present code, and the replay, which names the effects first. */
import { Group, Text } from "@mantine/core";
import type { RunPreview as Preview } from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { IconCircleCheck, IconCircleX, IconClock, IconPlayerPlay, IconRefresh } from "../icons/index.ts";
import { client } from "../service/client.ts";
import { text } from "../texts/index.ts";
import { Action } from "./action.tsx";
import { CodeBlock } from "./code-block.tsx";
import { confirmDanger } from "./confirm.tsx";
import { DetailsSection } from "./details-drawer.tsx";
import type { FieldChange } from "./diff.ts";
import { DiffView } from "./diff-view.tsx";
import { ErrorBlock } from "./error-text.tsx";
import { formatDuration, visible } from "./format.ts";
import { Mark } from "./mark.tsx";
import { messageOf } from "./states.tsx";
import { Complaint, Dim } from "./words.tsx";

const words = text.preview;

interface RunPreviewProps {
  runId: string;
  /** Makes the run again; null for a run that cannot be made again. */
  replay: (() => Promise<unknown>) | null;
}

export function RunPreview({ runId, replay }: RunPreviewProps) {
  const preview = useMutation({ mutationFn: () => client.admin.scripts.previewRun(runId) });
  const { data, error, isPending } = preview;
  return (
    <DetailsSection
      title={words.title}
      actions={
        <Action
          icon={IconPlayerPlay}
          label={words.action}
          size="compact-sm"
          loading={isPending}
          onClick={() => preview.mutate()}
        />
      }
    >
      {error !== null && (
        <Complaint>
          {words.failed}. {messageOf(error)}
        </Complaint>
      )}
      <div role="status">{data === undefined ? <Dim>{words.intro}</Dim> : <Effects preview={data} />}</div>
      {data !== undefined && replay !== null && (
        <Group mt="sm">
          <Action icon={IconRefresh} label={words.replay} size="compact-sm" onClick={() => askReplay(data, replay)} />
        </Group>
      )}
    </DetailsSection>
  );
}

const marks = {
  completed: { tone: "good", icon: IconCircleCheck, label: text.status.completed },
  failed: { tone: "bad", icon: IconCircleX, label: text.status.failed },
  late: { tone: "bad", icon: IconClock, label: words.late },
} as const;

function Effects({ preview }: { preview: Preview }) {
  const { outcome, durationMs, changes, mails, calls, logs } = preview;
  const { label, ...mark } = marks[outcome.status];
  const isEmpty = changes.length + mails.items.length + calls.items.length === 0;
  return (
    <>
      <Group gap="xs" mb="xs" fz="sm">
        <Mark {...mark}>{label}</Mark>
        <Dim>{formatDuration(durationMs)}</Dim>
      </Group>
      {outcome.error !== null && <ErrorBlock value={outcome.error.stack ?? outcome.error.message} />}
      {outcome.error !== null && !isEmpty && <Dim mt={4}>{words.incomplete}</Dim>}
      {isEmpty && <Dim mt={4}>{words.nothing}</Dim>}
      {changes.map((each) => (
        <Part key={each.collection} title={`${each.collection}: ${words.changes(each)}`} more={each.more}>
          {each.records.map((record) => (
            <li key={record.id}>
              <Dim mb={4}>
                <span className="mono">{record.id}</span> {words.kinds[record.change]}
              </Dim>
              <DiffView changes={differencesIn(record)} isPlain />
            </li>
          ))}
        </Part>
      ))}
      <Part title={words.mails} more={mails.more}>
        {itemsOf(mails.items.map((mail) => ({ head: words.mailTo(mail.to, mail.subject), body: mail.text })))}
      </Part>
      <Part title={words.calls} more={calls.more}>
        {itemsOf(
          calls.items.map((call) => ({
            head: words.callOf(call),
            note: words.answered(call.answer),
            body: call.body,
          })),
        )}
      </Part>
      <Part title={words.log} more={logs.more}>
        {itemsOf(
          logs.items.map(({ level, message, fields }) => ({
            head: `${level} ${message}`,
            ...(fields !== undefined && { note: JSON.stringify(fields) }),
            body: null,
          })),
        )}
      </Part>
    </>
  );
}

/** A list of effects; nothing without an effect. */
function Part({ title, more, children }: { title: string; more: number; children: readonly ReactNode[] }) {
  if (children.length === 0) return null;
  return (
    <>
      <Text component="h4" m={0} mt="sm" mb={4} size="sm" fw={500}>
        {title}
      </Text>
      <ul className="plain">{children}</ul>
      {more > 0 && <Dim>{words.more(more)}</Dim>}
    </>
  );
}

interface Item {
  head: string;
  note?: string;
  body: string | null;
}

function itemsOf(items: readonly Item[]): ReactNode[] {
  return items.map(({ head, note, body }, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the items have no id, and the lists do not change.
    <li key={at}>
      <Text size="xs" component="div" my={4} style={{ overflowWrap: "anywhere" }}>
        <span className="mono">{visible(head)}</span>{" "}
        {note !== undefined && <span className="mono quiet">{visible(note)}</span>}
      </Text>
      {body !== null && body !== "" && <CodeBlock value={body} label={head} />}
    </li>
  ));
}

type Changed = Preview["changes"][number]["records"][number];

function differencesIn({ change, before, after }: Changed): FieldChange[] {
  const kind = ({ created: "added", updated: "changed", deleted: "removed" } as const)[change];
  const names = Object.keys({ ...before, ...after });
  return names.map((field) => ({ field, kind, before: before?.[field], after: after?.[field] }));
}

/** Asks with the effects of the preview, and then makes the run again. */
function askReplay(preview: Preview, replay: () => Promise<unknown>): void {
  confirmDanger({
    title: words.replayTitle,
    body: (
      <>
        {preview.outcome.status !== "completed" && <p>{words.replayAnyway}</p>}
        <p>{words.replayBody}</p>
        <ul>
          {effectsOf(preview).map((effect) => (
            <li key={effect}>{visible(effect)}</li>
          ))}
        </ul>
      </>
    ),
    action: words.replay,
    onConfirm: replay,
  });
}

/** The effects in a few lines. */
function effectsOf({ changes, mails, calls }: Preview): string[] {
  const lines = changes.map((each) => `${each.collection}: ${words.changes(each)}`);
  const names = (all: readonly string[]): string => [...new Set(all)].slice(0, 5).join(", ");
  if (mails.items.length > 0)
    lines.push(words.mailCount(mails.items.length + mails.more, names(mails.items.map(({ to }) => to))));
  if (calls.items.length > 0)
    lines.push(words.callCount(calls.items.length + calls.more, names(calls.items.map(words.callOf))));
  return lines.length === 0 ? [words.nothing] : lines;
}
