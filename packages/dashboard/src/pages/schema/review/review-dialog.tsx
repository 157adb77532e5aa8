/**
 * The review before a change is applied: the plan of the service in words, or the contradictions after a refusal. If data would be
 * lost, the user has to type the name of the collection.
 */
import { Box, Group, Modal, Progress, Stack, Text } from "@mantine/core";
import type { CollectionDefinition, CollectionEntry, MigrationPlan } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useState } from "react";
import { IconAlertTriangle, IconMinus, IconPencil, IconPlus } from "../../../icons/index.ts";
import {
  Action,
  CodeText,
  Complaint,
  Dim,
  ErrorState,
  Form,
  FormFoot,
  messageOf,
  Notice,
  RowsSkeleton,
  TextLink,
  TypedWord,
  useFirstFocus,
} from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import { collectionQuery, queryClient } from "../../../service/queries.ts";
import { text } from "../../../texts/index.ts";
import type { SchemaChange, StoredDefinition } from "../draft/change.ts";
import { Effect } from "../permissions/effect-panel.tsx";
import { lossOf, type PlanContext, wordsOf } from "./plan-words.ts";
import { type Contradiction, contradictionsOf, filterOf } from "./refusal.ts";
import classes from "./review.module.css";

export interface ReviewProps {
  base: StoredDefinition;
  after: CollectionDefinition;
  change: SchemaChange;
  onClose: () => void;
  onApplied: (entry: CollectionEntry) => void;
}

const words = text.schema.plan;

/** Another user has changed the collection between the start and the end of the review. */
class ChangedMeanwhile extends Error {
  constructor() {
    super(text.schema.changedTitle);
  }
}

export function ReviewDialog(props: ReviewProps) {
  const { base, change, onClose } = props;
  const { name } = base.definition;
  const [isBusy, setBusy] = useState(false);
  const plan = useQuery({
    queryKey: ["schema plan", name, base.updatedAt, change],
    queryFn: () => client.admin.collections.planUpdate(name, change),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  const contradictions = plan.isError ? contradictionsOf(plan.error) : null;
  return (
    <Modal opened onClose={() => isBusy || onClose()} size="lg" title={words.title(name)}>
      {plan.isPending && <RowsSkeleton rows={4} height={40} />}
      {plan.isError && contradictions === null && <ErrorState error={plan.error} onRetry={plan.refetch} />}
      {contradictions !== null && (
        <Refused
          name={name}
          list={contradictions}
          isBusy={plan.isFetching}
          onRetry={() => plan.refetch()}
          onClose={onClose}
        />
      )}
      {plan.data !== undefined && !plan.isError && <PlanForm {...props} plan={plan.data} onBusy={setBusy} />}
    </Modal>
  );
}

function Refused(props: {
  name: string;
  list: readonly Contradiction[];
  isBusy: boolean;
  onRetry: () => void;
  onClose: () => void;
}) {
  const { name, list, isBusy, onRetry, onClose } = props;
  const first = useFirstFocus<HTMLButtonElement>();
  return (
    <Stack>
      <Contradictions collection={name} list={list} />
      <Group justify="flex-end">
        <Action label={text.common.retry} onClick={onRetry} loading={isBusy} size="sm" />
        <Action label={text.common.close} ref={first} onClick={onClose} size="sm" variant="filled" />
      </Group>
    </Stack>
  );
}

function PlanForm(props: ReviewProps & { plan: MigrationPlan; onBusy: (isBusy: boolean) => void }) {
  const { base, after, change, plan, onClose, onApplied, onBusy } = props;
  const { name } = base.definition;
  const [word, setWord] = useState("");
  const loss = lossOf(plan);
  const field = useFirstFocus<HTMLInputElement>();
  const button = useFirstFocus<HTMLButtonElement>();
  const isAllowed = plan.steps.length > 0 && (loss === 0 || word === name);
  const applying = useMutation({
    mutationFn: async () => {
      const now = await client.admin.collections.get(name);
      if (now.updatedAt !== base.updatedAt) {
        queryClient.setQueryData(collectionQuery(name).queryKey, now);
        throw new ChangedMeanwhile();
      }
      return client.admin.collections.update(name, change);
    },
    onMutate: () => onBusy(true),
    onSettled: () => onBusy(false),
    onSuccess: onApplied,
  });
  const contradictions = applying.isError ? contradictionsOf(applying.error) : null;
  return (
    // The keys that opened the review also apply the change.
    <Form onSubmit={() => isAllowed && !applying.isPending && applying.mutate()} onKeyDown={submitByKeys}>
      <Stack>
        <Dim size="sm">{plan.steps.length === 0 ? words.nothing : words.intro(plan.records)}</Dim>
        {plan.steps.length > 0 && (
          <PlanSteps steps={plan.steps} context={{ before: base.definition, after, plan }} label={words.steps} />
        )}
        <Following plan={plan} />
        {plan.steps.some(({ step }) => step === "permissions") && (
          <section aria-label={text.schema.effect.title}>
            <Text size="sm" fw={600} mb={4}>
              {text.schema.effect.title}
            </Text>
            <Effect name={name} change={change} />
          </section>
        )}
        {loss > 0 && (
          <Notice tone="bad" title={words.lossTitle(loss)}>
            {words.lossBody}
            <TypedWord ref={field} word={name} value={word} onChange={setWord} disabled={applying.isPending} />
          </Notice>
        )}
        {contradictions !== null && <Contradictions collection={name} list={contradictions} />}
        {applying.isError && contradictions === null && <Complaint>{messageOf(applying.error)}</Complaint>}
        {applying.isPending && <Applying />}
        <div className={classes["foot"]}>
          <FormFoot
            label={loss > 0 ? words.applyLoss : words.apply}
            isBusy={applying.isPending}
            onCancel={onClose}
            color={loss > 0 ? "red.8" : "verdigris"}
            disabled={!isAllowed}
            ref={loss === 0 ? button : undefined}
          />
        </div>
      </Stack>
    </Form>
  );
}

function submitByKeys(event: KeyboardEvent<HTMLFormElement>): void {
  if (!event.ctrlKey && !event.metaKey) return;
  if (event.key !== "Enter" && event.key.toLowerCase() !== "s") return;
  event.preventDefault();
  event.currentTarget.requestSubmit();
}

function Applying() {
  return (
    <div role="status">
      <Progress value={100} animated size="sm" aria-label={words.applying} />
      <Dim mt={6}>{words.applying}</Dim>
    </div>
  );
}

const icons = { add: IconPlus, change: IconPencil, drop: IconMinus, loss: IconAlertTriangle };

/** The changes of other collections that follow, and the files of code that the user has to change. */
function Following({ plan }: { plan: MigrationPlan }) {
  const { following = [], code = [] } = plan;
  return (
    <>
      {following.map(({ collection: name, steps }) => (
        <Box key={name} component="section" aria-label={words.follows(name)}>
          <Text size="sm" fw={600} mb={4}>
            {words.follows(name)}
          </Text>
          <PlanSteps steps={steps} context={{ before: null, after: { name, fields: [] }, plan }} label={name} />
        </Box>
      ))}
      {code.length > 0 && (
        <Notice tone="warn" title={words.codeTitle(code.length)}>
          <Text size="sm">{words.codeBody}</Text>
          <ul className={`plain ${classes["code"]}`}>
            {code.map(({ path, names, lines }) => (
              <li key={path}>
                <span className="mono">{path}</span> · {words.codeLines(lines)} · {names.join(", ")}
              </li>
            ))}
          </ul>
        </Notice>
      )}
    </>
  );
}

function PlanSteps(props: { steps: MigrationPlan["steps"]; context: PlanContext; label: string }) {
  const { steps, context, label } = props;
  return (
    <ul className={`plain ${classes["steps"]}`} aria-label={label}>
      {steps.map((step, i) => {
        const { tone, title, details } = wordsOf(step, context);
        const Icon = icons[tone];
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a plan does not change.
          <li key={i} className={classes["step"]} data-tone={tone}>
            <span className={classes["sign"]}>
              <Icon size={14} stroke={2} role="img" aria-label={text.schema.plan.tones[tone]} />
            </span>
            <div>
              <Text size="sm" fw={500} className={classes["stepTitle"]}>
                <CodeText text={title} />
              </Text>
              {details.map((detail) => (
                <Dim key={detail} className="breaks">
                  {detail}
                </Dim>
              ))}
            </div>
          </li>
        );
      })}
    </ul>
  );
}

function Contradictions({ collection, list }: { collection: string; list: readonly Contradiction[] }) {
  const isOfRecords = list.some(({ ids }) => ids.length > 0);
  return (
    <Notice tone="bad" title={isOfRecords ? words.refusedTitle : words.invalidTitle}>
      <Stack gap="sm">
        {list.map(({ field, message, ids, hasMore }) => (
          <div key={`${field} ${message}`}>
            <Text size="sm">
              {field !== null && (
                <Text span fw={600} inherit>
                  <span className="mono">{field}</span>{" "}
                </Text>
              )}
              {message}
            </Text>
            {ids.length > 0 && (
              <Group gap="sm" mt={2}>
                {/* In a tab of its own: the draft stays. */}
                <TextLink
                  to="/collections/$name"
                  params={{ name: collection }}
                  search={{ filter: filterOf(ids) }}
                  target="_blank"
                  size="xs"
                  underline="always"
                >
                  {words.showRecords(ids.length, hasMore)}
                </TextLink>
                {ids.map((id) => (
                  <TextLink
                    to="/collections/$name"
                    params={{ name: collection }}
                    search={{ record: id }}
                    target="_blank"
                    key={id}
                    size="xs"
                    className="mono"
                    aria-label={words.showRecord(id.slice(-8))}
                  >
                    {id.slice(-8)}
                  </TextLink>
                ))}
              </Group>
            )}
          </div>
        ))}
        {isOfRecords && <Dim>{words.refusedBody}</Dim>}
      </Stack>
    </Notice>
  );
}
