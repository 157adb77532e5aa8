/** A group of slow queries in the drawer: times, the newest query, the plan of the log and of now, and the proposed indexes. */
import type { ListPlan } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { IconPlus, IconRefresh } from "../../icons/index.ts";
import {
  Action,
  CodeBlock,
  DetailsSection,
  Dim,
  Fact,
  Facts,
  formatDuration,
  formatNumber,
  notifyDone,
  QueryView,
  RowsSkeleton,
  WholeTime,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { collectionsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import type { SlowQuery } from "../overview/figures.ts";
import { ReviewDialog } from "../schema/review/review-dialog.tsx";
import { type Proposal, parametersOf, proposalsOf } from "./proposals.ts";

const words = text.queries;

function planText(plan: readonly string[]): string {
  return plan.join("\n");
}

export function QueryDetails({ group }: { group: SlowQuery }) {
  const { collection, count, medianMs, slowestMs, newest } = group;
  const parameters = parametersOf(newest);
  const [before, setBefore] = useState<ListPlan | null>(null);
  const now = useQuery({
    queryKey: ["queries", "explain", collection, parameters],
    queryFn: () => client.admin.collections.explain(collection, parameters),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  const onAdded = async (): Promise<void> => {
    setBefore(now.data ?? null);
    notifyDone(words.added);
    await now.refetch();
  };
  const example = Object.entries(parameters).map(([name, value]) => `${name}=${value}`);
  return (
    <>
      <DetailsSection title={collection}>
        <Facts>
          <Fact name={words.times} value={formatNumber(count)} />
          <Fact name={words.median} value={formatDuration(medianMs)} />
          <Fact name={words.longest} value={formatDuration(slowestMs)} />
          <Fact name={words.last} value={<WholeTime at={newest.timestamp} />} />
        </Facts>
      </DetailsSection>
      <DetailsSection title={words.example}>
        <CodeBlock value={example.join("\n") || words.wholeList} label={words.example} />
      </DetailsSection>
      <DetailsSection title={words.planOfLog}>
        <CodeBlock value={planText(String(newest.fields?.["plan"] ?? "").split("; "))} label={words.planOfLog} />
      </DetailsSection>
      <DetailsSection
        title={words.now}
        actions={
          <Action
            icon={IconRefresh}
            label={words.measure}
            size="compact-xs"
            loading={now.isFetching}
            onClick={() => now.refetch()}
          />
        }
      >
        <Dim mb="xs">{words.nowHint}</Dim>
        <QueryView query={now} skeleton={<RowsSkeleton rows={2} height={24} />}>
          {(plan) => (
            <>
              {before !== null && <Measured name={words.before} {...before} />}
              <Measured name={before === null ? words.now : words.after} {...plan} />
              <Proposals advice={plan.index} onAdded={onAdded} />
            </>
          )}
        </QueryView>
      </DetailsSection>
    </>
  );
}

function Measured({ name, ms, plan }: ListPlan & { name: string }) {
  return (
    <>
      <Dim mb={4} mt="xs" role="status">
        {`${name}: ${formatDuration(ms)}`}
      </Dim>
      <CodeBlock value={planText(plan)} label={name} />
    </>
  );
}

function Proposals({ advice, onAdded }: { advice: string; onAdded: () => Promise<void> }) {
  const { data: collections } = useQuery(collectionsQuery);
  const [reviewed, setReviewed] = useState<Proposal | null>(null);
  const entry = collections?.find(({ name }) => name === reviewed?.collection);
  const proposals = proposalsOf(advice);
  if (proposals.length === 0) return <Dim mt="sm">{`${words.index}: ${advice}`}</Dim>;
  const indexes = reviewed === null ? [] : [...(entry?.definition.indexes ?? []), [...reviewed.fields]];
  return (
    <>
      {proposals.map((proposal) => {
        const fields = proposal.fields.join(", ");
        return (
          <Action
            key={`${proposal.collection} ${fields}`}
            icon={IconPlus}
            label={words.addOf(fields, proposal.collection)}
            variant="filled"
            mt="sm"
            onClick={() => setReviewed(proposal)}
          />
        );
      })}
      {reviewed !== null && entry !== undefined && (
        <ReviewDialog
          base={entry}
          after={{ ...entry.definition, indexes }}
          change={{ indexes }}
          onClose={() => setReviewed(null)}
          onApplied={() => {
            setReviewed(null);
            void onAdded();
          }}
        />
      )}
    </>
  );
}
