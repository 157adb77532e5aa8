/** The rename of a collection: the new name, then the review of all that follows. */
import { Modal, Stack, TextInput } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { useState } from "react";
import { Dim, Form, FormFoot, useFirstFocus } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import type { StoredDefinition } from "../draft/change.ts";
import { collectionProblem } from "../draft/checks.ts";
import { ReviewDialog } from "./review-dialog.tsx";

const words = text.schema.renaming;

export function RenameDialog(props: {
  base: StoredDefinition;
  /** Names of the existing collections. */
  names: readonly string[];
  onClose: () => void;
  onRenamed: (entry: CollectionEntry) => void;
}) {
  const { base, names, onClose, onRenamed } = props;
  const { definition } = base;
  const [typed, setTyped] = useState(definition.name);
  const [isReviewed, setReviewed] = useState(false);
  const [wasLeft, setLeft] = useState(false);
  const input = useFirstFocus<HTMLInputElement>();
  const name = typed.trim();
  const isSame = name === definition.name;
  const problem = isSame ? null : collectionProblem(name, names);
  if (isReviewed)
    return (
      <ReviewDialog
        base={base}
        after={{ ...definition, name }}
        change={{ name, renamedFrom: definition.name }}
        onClose={onClose}
        onApplied={onRenamed}
      />
    );
  return (
    <Modal opened onClose={onClose} title={words.title(definition.name)}>
      <Form onSubmit={() => (!isSame && problem === null ? setReviewed(true) : setLeft(true))}>
        <Stack>
          <Dim size="sm">{words.body}</Dim>
          <TextInput
            ref={input}
            label={words.name}
            value={typed}
            error={wasLeft && problem}
            onBlur={() => setLeft(true)}
            onChange={(event) => setTyped(event.currentTarget.value)}
            spellCheck={false}
            autoComplete="off"
            autoCapitalize="off"
          />
          <FormFoot
            label={text.schema.review}
            isBusy={false}
            onCancel={onClose}
            disabled={isSame || (wasLeft && problem !== null)}
          />
        </Stack>
      </Form>
    </Modal>
  );
}
