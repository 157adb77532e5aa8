/** An operation in the drawer: its parameters, body and answers, and the form that sends a request. */
import { Badge, Text } from "@mantine/core";
import { CodeBlock, CodeText, DetailsSection, Dim } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import classes from "./api.module.css";
import type { Body, Operation } from "./operations.ts";
import { type Schemas, typeText } from "./schema-text.ts";
import { TryForm } from "./try-form.tsx";

export function OperationDetails({ operation, schemas }: { operation: Operation; schemas: Schemas }) {
  const { summary, description, isOpen, parameters, body } = operation;
  return (
    <>
      <DetailsSection title={summary}>
        {description !== null && (
          <Text size="sm" mb={6}>
            <CodeText text={description} />
          </Text>
        )}
        <Dim>{isOpen ? text.api.openNote : text.api.needsTokenNote}</Dim>
      </DetailsSection>
      {parameters.length > 0 && <Parameters operation={operation} schemas={schemas} />}
      {body !== null && (
        <DetailsSection title={text.api.body}>
          <Content body={body} label={text.api.body} schemas={schemas} />
        </DetailsSection>
      )}
      <TryForm key={operation.id} operation={operation} schemas={schemas} />
      <Answers operation={operation} schemas={schemas} />
    </>
  );
}

function Parameters({ operation, schemas }: { operation: Operation; schemas: Schemas }) {
  return (
    <DetailsSection title={text.api.parameters}>
      <dl className={classes["facts"]}>
        {operation.parameters.map(({ name, in: place, description, schema }) => (
          <div key={`${place} ${name}`}>
            <dt>
              <span className="mono">{name}</span> <span className="quiet">{text.api.places[place]}</span>
            </dt>
            <dd>
              <span className="mono quiet">{typeText(schema, schemas)}</span>
              {description !== undefined && <Text size="sm">{description}</Text>}
            </dd>
          </div>
        ))}
      </dl>
    </DetailsSection>
  );
}

/** The type of a body. */
function Content({ body, label, schemas }: { body: Body; label: string; schemas: Schemas }) {
  return (
    <>
      <Dim mb={4}>{body.type === "*/*" ? text.api.anyType : body.type}</Dim>
      <CodeBlock value={typeText(body.schema, schemas)} label={label} isUnbroken />
    </>
  );
}

function Answers({ operation, schemas }: { operation: Operation; schemas: Schemas }) {
  const isError = (status: string): boolean => Number(status) >= 400;
  const good = operation.answers.filter(({ status }) => !isError(status));
  const errors = operation.answers.filter(({ status }) => isError(status));
  return (
    <>
      <DetailsSection title={text.api.answers}>
        {good.map(({ status, meaning, body }) => (
          <div key={status} className={classes["answer"]}>
            <Text size="sm" mb={4}>
              <Badge size="sm" radius="sm" variant="light" color="verdigris" mr={8}>
                {status}
              </Badge>
              {meaning}
            </Text>
            {body !== null && <Content body={body} label={text.api.answerOf(status)} schemas={schemas} />}
          </div>
        ))}
      </DetailsSection>
      <DetailsSection title={text.api.errors}>
        <dl className={classes["facts"]}>
          {errors.map(({ status, meaning }) => (
            <div key={status}>
              <dt className="numbers">{status}</dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </DetailsSection>
    </>
  );
}
