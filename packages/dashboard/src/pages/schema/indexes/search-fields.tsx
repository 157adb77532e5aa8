/** The fields of a collection whose words are searched. */
import { MultiSelect, Text, Title } from "@mantine/core";
import { text } from "../../../texts/index.ts";
import { CodeText } from "../code-text.tsx";
import { maxSearched } from "../draft/checks.ts";
import { keptFields, refName, type SchemaDraft } from "../draft/draft.ts";
import type { Edit } from "../draft/edits.ts";
import { isMultiple, isText } from "../draft/rules.ts";

const words = text.schema.search;

export function SearchFields(props: { draft: SchemaDraft; apply: (edit: Edit) => void; problem: string | undefined }) {
  const { draft, apply, problem } = props;
  const texts = keptFields(draft)
    .filter((field) => isText(field.type) && !isMultiple(field) && field.name.trim() !== "")
    .map(({ key, name }) => ({ value: key, label: name.trim() }));
  // A field that is dropped, or is no text any more, stays visible until it is taken out.
  const gone = [...new Set(draft.search)]
    .filter((ref) => !texts.some(({ value }) => value === ref))
    .map((ref) => ({ value: ref, label: refName(draft, ref) }));
  return (
    <section aria-labelledby="searched-fields">
      <Title order={2} size="h6" id="searched-fields">
        {words.title}
      </Title>
      <Text size="xs" c="dimmed" mb={8}>
        <CodeText text={words.body} />
      </Text>
      <MultiSelect
        size="xs"
        maw={520}
        aria-label={words.fields}
        placeholder={draft.search.length === 0 ? words.none : ""}
        data={[...texts, ...gone]}
        value={[...new Set(draft.search)]}
        onChange={(refs) => apply({ edit: "search", refs })}
        maxValues={maxSearched}
        nothingFoundMessage={words.noTexts}
        error={problem}
        hidePickedOptions
      />
    </section>
  );
}
