/** The question before a paste: the number of the cells that change, and the refused cells with their reasons. */
import { Modal, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Form, FormFoot, notifyChange, QueryView, RowsSkeleton, useFirstFocus } from "../../../kit/index.ts";
import { collectionsQuery } from "../../../service/queries.ts";
import { text } from "../../../texts/index.ts";
import { findRecord, Lookup } from "../../import/run/lookup.ts";
import { recordsKey } from "../data/record-query.ts";
import { editMany } from "../edit-many/edit-many.ts";
import { mostShown, Refusals } from "../edit-many/edit-many-dialog.tsx";
import classes from "../records.module.css";
import type { RecordsPage } from "../use-records-page.ts";
import { type Paste, planPaste } from "./paste.ts";

const words = text.records.paste;

export function PasteDialog({ page, pasted, onClose }: { page: RecordsPage; pasted: string; onClose: () => void }) {
  const { collection, name, shown, state } = page;
  const queryClient = useQueryClient();
  // The rows and the place of the key: rows of others that come meanwhile move no cell.
  const [target] = useState({ collection, columns: shown.columns.visible, rows: shown.rows, at: state.active });
  const [key] = useState(() => crypto.randomUUID());
  const plan = useQuery({
    queryKey: ["paste", key],
    queryFn: async () => {
      const lookup = new Lookup(findRecord);
      const collections = await queryClient.ensureQueryData(collectionsQuery);
      return planPaste(pasted, { ...target, collections }, (wanted) => lookup.resolve(wanted));
    },
    gcTime: 0,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const paste = useMutation({
    mutationFn: ({ changes, cells }: Paste) =>
      editMany({
        collection: name,
        ids: [...changes.keys()],
        bodyOf: (id) => changes.get(id) ?? {},
        words: () => text.undo.changes.pasted(cells, name),
        onProgress: () => undefined,
      }),
    onSuccess: ({ changed, failed, change }) => {
      if (changed > 0) notifyChange(text.records.editMany.done(changed), change);
      if (failed.length === 0) onClose();
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: recordsKey(name) }),
  });
  return (
    <Modal opened onClose={() => !paste.isPending && onClose()} closeOnClickOutside={false} title={words.title}>
      {paste.isSuccess ? (
        <Refusals {...paste.data} onClose={onClose} />
      ) : (
        <QueryView query={plan} skeleton={<RowsSkeleton rows={2} />}>
          {(found) => (
            <Preview plan={found} isBusy={paste.isPending} onSend={() => paste.mutate(found)} onClose={onClose} />
          )}
        </QueryView>
      )}
    </Modal>
  );
}

function Preview(props: { plan: Paste; isBusy: boolean; onSend: () => void; onClose: () => void }) {
  const { plan, isBusy, onSend, onClose } = props;
  const { changes, cells, same, refused } = plan;
  const button = useFirstFocus<HTMLButtonElement>();
  return (
    <Form onSubmit={() => cells > 0 && !isBusy && onSend()}>
      <Stack>
        <Text size="sm" role="status">
          {words.counts({ cells, records: changes.size, same })}
        </Text>
        {refused.length > 0 && (
          <>
            <Text size="sm" fw={600}>
              {words.refused(refused.length)}
            </Text>
            <ul className={`plain ${classes["refusals"]}`}>
              {refused.slice(0, mostShown).map(({ id, field, reason }) => (
                <li key={`${id} ${field} ${reason}`}>
                  <Text size="xs">
                    <span className="mono">{[id.slice(-8), field].filter(Boolean).join(" · ")}</span> {reason}
                  </Text>
                </li>
              ))}
            </ul>
          </>
        )}
        <FormFoot label={words.action(cells)} isBusy={isBusy} disabled={cells === 0} onCancel={onClose} ref={button} />
      </Stack>
    </Form>
  );
}
