/** The definition as JSON. A text that is a definition changes the form. Any other text is kept, and the form stays unchanged. */
import { Group, Stack } from "@mantine/core";
import type { CollectionDefinition, JsonValue } from "@socle/protocol";
import { useEffect, useRef, useState } from "react";
import { Action, CodeText, Complaint, CopyAction, Dim, JsonArea } from "../../../kit/index.ts";
import type { Mistake } from "../../../kit/json-editor/index.ts";
import { text } from "../../../texts/index.ts";
import { isSame } from "../draft/change.ts";
import { type Problem, problemsOf, type Surroundings } from "../draft/checks.ts";
import { definitionOf, keptFields, type SchemaDraft } from "../draft/draft.ts";
import type { Edit } from "../draft/edits.ts";
import { type Reading, readDefinition, withDefinition } from "./definition.ts";

const words = text.schema.json;

export function jsonOf(draft: SchemaDraft): string {
  return `${JSON.stringify(definitionOf(draft), null, 2)}\n`;
}

/** The reading of a text; null for a text that is not JSON. */
function readingOf(typed: string, stored: CollectionDefinition | null): Reading | null {
  let value: JsonValue;
  try {
    value = JSON.parse(typed);
  } catch {
    return null;
  }
  const reading = readDefinition(value);
  if (reading.definition === null || stored === null || reading.definition.name === stored.name) return reading;
  return { definition: null, mistakes: [{ path: ["name"], message: words.nameFixed(stored.name) }] };
}

/** The position in the JSON of a problem of the draft. */
function mistakeOf(problem: Problem, draft: SchemaDraft): Mistake {
  const { key, part, message } = problem;
  const field = keptFields(draft).findIndex((each) => each.key === key);
  const index = draft.indexes.findIndex((each) => each.key === key);
  if (field !== -1) return { path: ["fields", field, part], message };
  return { path: index === -1 ? [part] : ["indexes", index], message };
}

export function JsonTab(props: {
  draft: SchemaDraft;
  stored: CollectionDefinition | null;
  surroundings: Surroundings;
  apply: (edit: Edit) => void;
  /** A text from an earlier visit of the tab that is not a definition. */
  pending: string | null;
  onPending: (typed: string | null) => void;
}) {
  const { draft, stored, surroundings, apply, pending, onPending } = props;
  const [typed, setTyped] = useState(() => pending ?? jsonOf(draft));
  // The draft of the shown text: a different draft comes from the form.
  const shown = useRef(draft);
  useEffect(() => {
    if (shown.current === draft) return;
    shown.current = draft;
    setTyped(jsonOf(draft));
    onPending(null);
  }, [draft, onPending]);

  const changed = (next: string): void => {
    setTyped(next);
    const reading = readingOf(next, stored);
    if (reading === null || reading.definition === null) {
      onPending(next);
      return;
    }
    onPending(null);
    const made = withDefinition(draft, reading.definition);
    const renamesOf = ({ fields }: SchemaDraft) => fields.map(({ renamedValues }) => renamedValues);
    if (isSame(definitionOf(made), definitionOf(draft)) && isSame(renamesOf(made), renamesOf(draft))) return;
    shown.current = made;
    apply({ edit: "replace", draft: made });
  };
  const lint = (value: string): readonly Mistake[] => {
    const reading = readingOf(value, stored);
    if (reading === null) return [];
    if (reading.definition === null) return reading.mistakes;
    const made = withDefinition(draft, reading.definition);
    return problemsOf(made, surroundings).map((problem) => mistakeOf(problem, made));
  };
  return (
    <Stack gap={0} mih="100%">
      <Group px={16} py={8} justify="space-between" gap="xs" mih={46} wrap="nowrap">
        {pending === null ? (
          <Dim>
            <CodeText text={words.intro} />
          </Dim>
        ) : (
          <Complaint size="xs" role="status">
            {words.invalid}
          </Complaint>
        )}
        <Group gap="xs" wrap="nowrap">
          {pending !== null && (
            <Action
              label={words.reset}
              size="compact-xs"
              onClick={() => {
                setTyped(jsonOf(draft));
                onPending(null);
              }}
            />
          )}
          <CopyAction value={typed} label={text.schema.copyJson} />
        </Group>
      </Group>
      <JsonArea value={typed} onChange={changed} lint={lint} label={words.label} style={{ flex: 1, minHeight: 320 }} />
    </Stack>
  );
}
