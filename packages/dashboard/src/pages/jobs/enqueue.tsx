/** The starts of runs by hand: a job at once, and a run in a queue, with its payload as JSON, a key and a time. */
import { Modal, Stack, Text, TextInput } from "@mantine/core";
import { DateTimePicker } from "@mantine/dates";
import type { NewQueueRun } from "@socle/protocol";
import { IconPlayerPlay, IconPlus } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Action, Complaint, FormFoot, JsonEditor, messageOf, notifyDone, notifyError } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { refreshJobs } from "./queries.ts";

const words = text.jobs.queue;

export function EnqueueButton({ name, onOpen }: { name: string; onOpen: () => void }) {
  return (
    <Action
      icon={IconPlus}
      label={words.enqueue}
      size="compact-sm"
      aria-label={words.enqueueOf(name)}
      onClick={onOpen}
    />
  );
}

interface EnqueueProps {
  name: string;
  onClose: () => void;
  onEnqueued: (runId: string) => void;
}

export function EnqueueDialog(props: EnqueueProps) {
  return (
    <Modal opened onClose={props.onClose} title={words.enqueueOf(props.name)} size="lg">
      <EnqueueForm {...props} />
    </Modal>
  );
}

function EnqueueForm({ name, onClose, onEnqueued }: EnqueueProps) {
  const [payload, setPayload] = useState("{}");
  const [key, setKey] = useState("");
  const [at, setAt] = useState<string | null>(null);
  const enqueue = useMutation({
    mutationFn: () => client.admin.scripts.enqueue(name, runOf({ payload, key, at })),
    onSuccess: async ({ runId }) => {
      notifyDone(words.enqueued);
      onClose();
      onEnqueued(runId);
      await refreshJobs();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!enqueue.isPending) enqueue.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <div>
          <Text size="sm" fw={500} mb={4} aria-hidden>
            {words.payload}
          </Text>
          <JsonEditor value={payload} onChange={setPayload} label={words.payload} autoFocus minHeight={120} />
        </div>
        <TextInput
          label={words.key}
          description={words.keyNote}
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
          autoComplete="off"
        />
        <DateTimePicker label={words.at} placeholder={words.atOnce} value={at} onChange={setAt} clearable />
        {enqueue.isError && <Complaint>{messageOf(enqueue.error)}</Complaint>}
        <FormFoot label={words.enqueue} isBusy={enqueue.isPending} onCancel={onClose} />
      </Stack>
    </form>
  );
}

/** @throws SyntaxError for a payload that is no JSON. */
function runOf({ payload, key, at }: { payload: string; key: string; at: string | null }): NewQueueRun {
  return {
    payload: JSON.parse(payload === "" ? "null" : payload),
    ...(key !== "" && { key }),
    ...(at !== null && { at: new Date(at).toISOString() }),
  };
}

export function RunNow({ name, onStarted }: { name: string; onStarted: (runId: string) => void }) {
  const start = useMutation({
    mutationFn: () => client.admin.scripts.runJob(name),
    onSuccess: async ({ runId }) => {
      // The details of the started run open and show its progress.
      onStarted(runId);
      await refreshJobs();
    },
    onError: (error) => notifyError(text.jobs.notStarted(name), error),
  });
  return (
    <Action
      icon={IconPlayerPlay}
      label={text.jobs.runNow}
      size="compact-sm"
      loading={start.isPending}
      aria-label={text.jobs.runNowOf(name)}
      onClick={() => start.mutate()}
    />
  );
}
