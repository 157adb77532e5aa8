/** A field of users that follows the account: the definition says who reads the field, and nothing else. */
import { Badge, Box } from "@mantine/core";
import { isRuleWord } from "@socle/protocol";
import { kinds } from "../../../fields/index.ts";
import { IconChevronDown, IconChevronUp } from "../../../icons/index.ts";
import { Dim, IconAction } from "../../../kit/index.ts";
import { TypeIcon } from "../../../kit/type-icon.tsx";
import { text } from "../../../texts/index.ts";
import type { FieldDraft } from "../draft/draft.ts";
import type { Edit } from "../draft/edits.ts";
import { fieldStatus } from "./field-row.tsx";
import { FieldRules } from "./field-rules.tsx";
import classes from "./fields.module.css";

const words = text.schema.fields;

interface AccountRowProps {
  field: FieldDraft;
  isOpen: boolean;
  apply: (edit: Edit) => void;
  onToggle: (key: string) => void;
}

export function AccountRow({ field, isOpen, apply, onToggle }: AccountRowProps) {
  const { key, name, type, permissions } = field;
  const rule = permissions.read ?? "owner";
  return (
    <li className={classes["item"]} data-status={fieldStatus(field)}>
      <div className={classes["row"]}>
        <span className={classes["icon"]}>
          <TypeIcon type={type} size={16} />
        </span>
        <span className={`cut ${classes["fixedName"]}`}>{name}</span>
        <Dim size="sm" className={classes["type"]}>
          {kinds[type].words.label}
        </Dim>
        <div className={classes["badges"]}>
          <Badge size="sm" variant="outline" className={classes["badge"]} data-tone="rule">
            {words.ofAccount}
          </Badge>
          <Badge size="sm" variant="outline" className={classes["badge"]} data-tone="rule">
            {words.readBy(isRuleWord(rule) ? text.schema.permissions.rules[rule] : text.schema.permissions.expression)}
          </Badge>
        </div>
        <div className={classes["actions"]}>
          <IconAction
            tip={words.options(name)}
            icon={isOpen ? IconChevronUp : IconChevronDown}
            iconSize={16}
            label={words.options(name)}
            className="quiet"
            size="md"
            aria-expanded={isOpen}
            onClick={() => onToggle(key)}
          />
        </div>
      </div>
      {isOpen && (
        <Box pt={4} pb={20} pr={16} pl={{ base: 16, sm: 70 }}>
          <FieldRules field={field} isOfAccount onPatch={(patch) => apply({ edit: "changeField", key, patch })} />
        </Box>
      )}
    </li>
  );
}
