/** The dialog that exports records into a file. */
import { Alert, Checkbox, Group, Modal, Progress, Radio, SegmentedControl, Stack, Text } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { IconAlertTriangle, IconCircleCheck, IconDownload } from "../../../icons/index.ts";
import { Action, Dim, Form, FormFoot, formatNumber, messageOf } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import { countQuery } from "../data/record-query.ts";
import { columnsOf, EXPORT_FORMATS, type ExportColumn, type ExportShape } from "./format.ts";
import { useExport } from "./use-export.ts";

export interface ExportDialogProps {
  collection: CollectionEntry;
  filter?: string | undefined;
  search?: string | undefined;
  sort?: string | undefined;
  /** Only these records; undefined exports all records that match the filter. */
  ids?: readonly string[] | undefined;
  /** The columns that the grid shows, in its order. */
  columns: readonly string[];
  onClose: () => void;
}

export function ExportDialog(props: ExportDialogProps) {
  const { collection, filter, search, sort, ids, columns, onClose } = props;
  const { state, start, stop } = useExport();
  const isPartial = filter !== undefined || search !== undefined;
  const found = useQuery({
    ...countQuery({ collection: collection.name, filter, search }),
    enabled: ids === undefined && isPartial,
  });
  // For all records, the collection has the number already: a new count would read all records.
  const total = ids?.length ?? (!isPartial ? collection.records : (found.data ?? null));
  const close = (): void => {
    stop();
    onClose();
  };
  return (
    <Modal
      opened
      onClose={close}
      title={text.export.title(collection.name)}
      closeOnClickOutside={state.phase !== "running"}
    >
      {state.phase === "done" && <Done {...state} wanted={ids?.length ?? 0} onClose={close} />}
      {state.phase === "running" && <Running done={state.done} total={total} onStop={stop} />}
      {/* The choices stay as they are while it runs, and after it was stopped. */}
      <div hidden={state.phase !== "idle"}>
        <ExportForm
          scope={ids === undefined ? (isPartial ? text.export.filtered : text.export.all) : text.export.chosen}
          total={total}
          error={state.phase === "idle" ? state.error : null}
          all={columnsOf(collection)}
          grid={columns}
          onCancel={close}
          onStart={(shape) => start({ collection: collection.name, filter, search, sort, ids, shape })}
        />
      </div>
    </Modal>
  );
}

/** @param props.wanted the number of chosen records, of which some may be deleted meanwhile. */
function Done({ done, file, wanted, onClose }: { done: number; file: string; wanted: number; onClose: () => void }) {
  return (
    <Stack>
      <Alert color="verdigris" variant="light" icon={<IconCircleCheck aria-hidden />} role="status">
        {text.export.done(done, file)}
        {done < wanted && ` ${text.export.gone(wanted - done)}`}
      </Alert>
      <Group justify="flex-end">
        <Action label={text.common.close} onClick={onClose} data-autofocus size="sm" variant="filled" />
      </Group>
    </Stack>
  );
}

function Running({ done, total, onStop }: { done: number; total: number | null; onStop: () => void }) {
  const percent = total === null || total === 0 ? 100 : Math.min(100, (done / total) * 100);
  return (
    <Stack>
      <Progress value={percent} animated aria-label={text.export.progress} />
      <Group justify="space-between">
        <Text size="sm" role="status" className="numbers">
          {text.export.running(done, total)}
        </Text>
        <Action label={text.export.stop} onClick={onStop} />
      </Group>
    </Stack>
  );
}

interface ExportFormProps {
  scope: string;
  total: number | null;
  error: unknown;
  all: readonly ExportColumn[];
  grid: readonly string[];
  onCancel: () => void;
  onStart: (shape: ExportShape) => void;
}

function ExportForm({ scope, total, error, all, grid, onCancel, onStart }: ExportFormProps) {
  const [style, setStyle] = useState<ExportStyle>({ format: "csv", isProtected: true, hasMark: false });
  const [isAll, setAll] = useState(false);
  const shown = grid.flatMap((name) => all.find((column) => column.name === name) ?? []);
  const columns = isAll || shown.length === 0 ? all : shown;
  return (
    <Form onSubmit={() => onStart({ ...style, columns })}>
      <Stack gap="md">
        {error !== null && (
          <Alert color="red" variant="light" role="alert" icon={<IconAlertTriangle aria-hidden />}>
            {messageOf(error)}
          </Alert>
        )}
        <Dim size="sm" className="numbers">
          {scope}
          {total !== null && `: ${formatNumber(total)}`}
        </Dim>
        <StyleChoice style={style} onChange={(change) => setStyle({ ...style, ...change })} />
        <Radio.Group
          label={text.export.columns}
          value={isAll ? "all" : "grid"}
          onChange={(value) => setAll(value === "all")}
        >
          <Group gap="lg" mt={6}>
            <Radio value="grid" label={text.export.gridColumns(shown.length)} disabled={shown.length === 0} />
            <Radio value="all" label={text.export.allColumns(all.length)} />
          </Group>
        </Radio.Group>
        <FormFoot
          label={text.export.start}
          isBusy={false}
          onCancel={onCancel}
          leftSection={<IconDownload size={16} />}
        />
      </Stack>
    </Form>
  );
}

type ExportStyle = Omit<ExportShape, "columns">;

/** The format, and the options of CSV. */
function StyleChoice(props: { style: ExportStyle; onChange: (change: Partial<ExportStyle>) => void }) {
  const { style, onChange } = props;
  const { format, isProtected, hasMark } = style;
  return (
    <>
      <div>
        <SegmentedControl
          fullWidth
          aria-label={text.export.format}
          data={EXPORT_FORMATS.map((value) => ({ value, label: text.export.formats[value] }))}
          value={format}
          onChange={(next) => onChange({ format: next })}
        />
        <Dim mt={6}>{text.export.formatHints[format]}</Dim>
      </div>
      {format === "csv" && (
        <Stack gap="xs">
          <Checkbox
            label={text.export.protect}
            description={text.export.protectHint}
            checked={isProtected}
            onChange={(event) => onChange({ isProtected: event.currentTarget.checked })}
          />
          <Checkbox
            label={text.export.mark}
            description={text.export.markHint}
            checked={hasMark}
            onChange={(event) => onChange({ hasMark: event.currentTarget.checked })}
          />
        </Stack>
      )}
    </>
  );
}
