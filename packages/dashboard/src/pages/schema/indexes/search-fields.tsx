/** The searched fields of a collection. */
import { MultiSelect, Title } from "@mantine/core";
import { Dim } from "../../../kit/words.tsx";
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
  // A dropped field, or a field that is no text any more, stays visible until the user removes the field.
  const gone = [...new Set(draft.search)]
    .filter((ref) => !texts.some(({ value }) => value === ref))
    .map((ref) => ({ value: ref, label: refName(draft, ref) }));
  return (
    <section aria-labelledby="searched-fields">
      <Title order={2} size="h6" id="searched-fields">
        {words.title}
      </Title>
      <Dim mb={8}>
        <CodeText text={words.body} />
      </Dim>
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
