/** The page that imports the rows of a file into a collection. */
import { Group, Stack } from "@mantine/core";
import { SocleError } from "@socle/client";
import { type CollectionEntry, IMPORT_HEADER } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { IconArrowLeft, IconPlayerPlay } from "../../icons/index.ts";
import { Action, Dim, LinkAction, Page, QueryView } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { collectionQuery, collectionsQuery, queryClient } from "../../service/queries.ts";
import { useSession } from "../../service/session.ts";
import { text } from "../../texts/index.ts";
import { FieldStep } from "./field-step.tsx";
import { FileStep, type LoadedSource, useSource } from "./file-step.tsx";
import classes from "./import.module.css";
import { type FieldMapping, guessMapping, type Match } from "./mapping/mapping.ts";
import { PreviewStep } from "./preview-step.tsx";
import { batchRows, ImportRun } from "./run/import-run.ts";
import { findRecord, Lookup } from "./run/lookup.ts";
import { type ImportPlan, looksUpItself, operationOf, prepareRow } from "./run/prepare.ts";
import { RunPanel } from "./run-panel.tsx";
import { readRows } from "./source/source.ts";

const route = getRouteApi("/inside/collections/$name/import");

export function ImportPage() {
  const { name } = route.useParams();
  const collection = useQuery({ ...collectionQuery(name), refetchOnWindowFocus: false });
  const collections = useQuery({ ...collectionsQuery, refetchOnWindowFocus: false });
  return (
    <Page
      title={text.import.into(name)}
      actions={
        <LinkAction
          icon={IconArrowLeft}
          label={text.import.toRecords}
          to="/collections/$name"
          params={{ name: name }}
        />
      }
    >
      <QueryView query={collection}>
        {(entry) => (
          <QueryView query={collections}>
            {(all) => <Importer key={entry.name} collection={entry} collections={all} />}
          </QueryView>
        )}
      </QueryView>
    </Page>
  );
}

function Importer(props: { collection: CollectionEntry; collections: readonly CollectionEntry[] }) {
  const { collection, collections } = props;
  const [mappings, setMappings] = useState<readonly FieldMapping[]>([]);
  const [isUpdate, setUpdate] = useState(false);
  const [match, setMatch] = useState<Match | null>(null);
  const [isProtected, setProtected] = useState(true);
  const [run, setRun] = useState<ImportRun | null>(null);
  const session = useSession();
  const isSignedIn = useRef(true);
  isSignedIn.current = session.phase === "in";
  useEffect(() => () => run?.cancel(), [run]);

  const guess = ({ columns, sample }: LoadedSource): void => {
    const rows = sample.map(({ cells }) => cells);
    setMappings(guessMapping({ fields: collection.fields, columns, sample: rows, collections }));
    setUpdate(false);
    setMatch(null);
  };
  const state = useSource(guess);
  const { source } = state;
  const isCsv = source?.format.kind === "csv";
  const plan = useMemo<ImportPlan>(
    () => ({
      collection: collection.name,
      mappings,
      match: isUpdate ? match : null,
      isProtected: isProtected && isCsv,
      hasTypes: !isCsv,
    }),
    [collection.name, mappings, match, isUpdate, isProtected, isCsv],
  );

  const start = (loaded: LoadedSource): void => {
    // `crypto.randomUUID` is missing on pages without HTTPS.
    const id = `imp_${crypto.getRandomValues(new Uint32Array(3)).join("")}`;
    const options = { headers: { [IMPORT_HEADER]: id } };
    const records = client.collection(collection.name);
    const lookup = new Lookup(findRecord);
    const next = new ImportRun({
      id,
      rows: readRows(loaded.file, loaded.format, loaded.columns),
      prepare: (row) => prepareRow(row, plan, (key) => lookup.resolve(key)),
      send: ({ id: record, values }) =>
        record === null ? records.create(values, options) : records.update(record, values, options),
      sendBatch: (rows) =>
        client.batch(
          rows.map((row) => operationOf(row, collection.name)),
          options,
        ),
      batchRows: looksUpItself(plan) ? 1 : batchRows,
      isSignedIn: () => isSignedIn.current,
      // Any answer below 502 shows that the service is up again.
      isAlive: () =>
        client.health().catch((error: unknown) => {
          if (!(error instanceof SocleError) || error.status >= 502) throw error;
        }),
    });
    setRun(next);
    void next.start().finally(() => queryClient.invalidateQueries());
  };

  if (run !== null && source !== null) {
    const again = (): void => {
      setRun(null);
      state.close();
    };
    return <RunPanel run={run} source={source} plan={plan} onAgain={again} />;
  }
  const isMapped = mappings.some(({ source: from }) => from.kind !== "skip");
  const isReady = isMapped && (!isUpdate || match !== null);
  return (
    <Stack gap="md">
      <FileStep state={state} isProtected={isProtected} onProtected={setProtected} />
      {source !== null && source.sample.length > 0 && (
        <>
          <FieldStep
            collection={collection}
            collections={collections}
            source={source}
            mappings={mappings}
            onMappings={setMappings}
            mode={{ isUpdate, match, setUpdate, setMatch }}
          />
          {isReady && <PreviewStep source={source} plan={plan} />}
          <Group justify="space-between" gap="sm" className={classes["foot"]}>
            <Dim size="sm">
              {isMapped ? (isReady ? text.import.startHint : text.import.noMatchColumn) : text.import.nothingMapped}
            </Dim>
            <Action
              label={text.import.start}
              size="sm"
              variant="filled"
              leftSection={<IconPlayerPlay size={16} />}
              disabled={!isReady || state.isLoading}
              onClick={() => start(source)}
            />
          </Group>
        </>
      )}
    </Stack>
  );
}
