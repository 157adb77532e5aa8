/** The operations of the API, by group: a row opens the operation. */
import { UnstyledButton } from "@mantine/core";
import { text } from "../../texts/index.ts";
import classes from "./api.module.css";
import { MethodMark } from "./method-mark.tsx";
import type { groupsOf, Operation } from "./operations.ts";

interface ListProps {
  groups: ReturnType<typeof groupsOf>;
  /** The id of the open operation. */
  openId: string | undefined;
  onOpen: (id: string) => void;
}

export function OperationList({ groups, openId, onOpen }: ListProps) {
  return (
    <div className="fills">
      {groups.map(([group, operations]) => (
        <section key={group} aria-label={group}>
          <h2 className={classes["group"]}>
            {group} <span className="numbers">{operations.length}</span>
          </h2>
          <ul className="plain">
            {operations.map((operation) => (
              <li key={operation.id}>
                <Row operation={operation} isOpen={operation.id === openId} onOpen={onOpen} />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function Row({ operation, isOpen, onOpen }: { operation: Operation; isOpen: boolean; onOpen: (id: string) => void }) {
  const { id, method, path, summary, isOpen: isForAll } = operation;
  return (
    <UnstyledButton className={classes["row"]} data-is-open={isOpen || undefined} onClick={() => onOpen(id)}>
      <MethodMark method={method} />
      <span className={`mono breaks ${classes["path"]}`}>{path}</span>
      <span className={`quiet ${classes["summary"]}`}>{summary}</span>
      <span className={`quiet ${classes["access"]}`}>{isForAll ? text.api.open : text.api.needsToken}</span>
    </UnstyledButton>
  );
}
