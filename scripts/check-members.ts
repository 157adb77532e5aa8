/**
 * Checks that each public member of a class is used by the service; a use in a test does not count. TypeScript
 * finds the uses, by way of interfaces too: a member counts as used when the class fits an interface of the service that
 * has a member of this name.
 *
 * The check cannot see uses that are not in the source: `toString` and `toJSON` are called by the language.
 */
import { join } from "node:path";
import {
  type ClassDeclaration,
  type InterfaceDeclaration,
  isClassDeclaration,
  isGetAccessorDeclaration,
  isIdentifier,
  isInterfaceDeclaration,
  isMethodDeclaration,
  isMethodSignatureDeclaration,
  isPropertyAccessExpression,
  isPropertyDeclaration,
  isPropertySignatureDeclaration,
  isTypeLiteralNode,
  type Node,
  type SourceFile,
  type TypeLiteralNode,
} from "typescript/unstable/ast";
import { API, type Checker, type Project } from "typescript/unstable/async";

const calledByLanguage: ReadonlySet<string> = new Set(["toString", "toJSON"]);

/** Members that may still be for tests alone; a used member has to go from this list. */
export const later: ReadonlySet<string> = new Set();

interface Member {
  readonly file: string;
  readonly owner: ClassDeclaration;
  readonly name: Node;
  readonly text: string;
}

interface Source {
  readonly file: string;
  readonly tree: SourceFile;
  /** Every node of the file. */
  readonly nodes: readonly Node[];
}

function isTest(path: string): boolean {
  return /\.test\.tsx?$|\/packages\/[a-z]+\/test\/|\/e2e\//.test(path);
}

function nodesOf(tree: SourceFile): Node[] {
  const found: Node[] = [];
  const visit = (node: Node): undefined => {
    found.push(node);
    node.forEachChild(visit);
    return undefined;
  };
  tree.forEachChild(visit);
  return found;
}

async function readSources(project: Project, root: string): Promise<Source[]> {
  const files = (await project.program.getSourceFileNames()).filter(
    (file) => file.startsWith(`${root}/`) && !file.includes("/node_modules/") && !isTest(file),
  );
  const trees = await Promise.all(files.map((file) => project.program.getSourceFile(file)));
  return files.flatMap((file, i) => {
    const tree = trees[i];
    return tree === undefined ? [] : [{ file: file.slice(root.length + 1), tree, nodes: nodesOf(tree) }];
  });
}

function membersOf({ file, nodes }: Source): Member[] {
  return nodes.filter(isClassDeclaration).flatMap((owner) =>
    owner.members.flatMap((member) => {
      if (!isMethodDeclaration(member) && !isPropertyDeclaration(member) && !isGetAccessorDeclaration(member))
        return [];
      const { name } = member;
      if (!isIdentifier(name) || calledByLanguage.has(name.text)) return [];
      return [{ file, owner, name, text: name.text }];
    }),
  );
}

/** The declarations of the members that are read as `something.member`, by file and position. */
async function accessed(checker: Checker, sources: readonly Source[]): Promise<Set<string>> {
  const found = new Set<string>();
  const resolve = async ({ nodes }: Source): Promise<void> => {
    const names = nodes.filter(isPropertyAccessExpression).map(({ name }) => name);
    for (const symbol of await checker.getSymbolAtLocation(names))
      for (const { path, index } of symbol?.declarations ?? []) found.add(`${path}:${index}`);
  };
  await Promise.all(sources.map(resolve));
  return found;
}

async function isReferenced(checker: Checker, { name }: Member): Promise<boolean> {
  const entries = await checker.getReferencedSymbolsForNode(name, name.getStart());
  const uses = entries.flatMap(({ references }) => references).filter(({ path }) => !isTest(path));
  return uses.length > 1;
}

type Shape = InterfaceDeclaration | TypeLiteralNode;

/** Whether the class fits an interface with a member of this name. */
async function isPartOfInterface(
  checker: Checker,
  member: Member,
  shapes: ReadonlyMap<string, readonly Shape[]>,
): Promise<boolean> {
  const own = await checker.getTypeAtLocation(member.owner);
  if (own === undefined) return false;
  for (const shape of shapes.get(member.text) ?? []) {
    const type = await checker.getTypeAtLocation(shape);
    if (type !== undefined && (await checker.isTypeAssignableTo(own, type))) return true;
  }
  return false;
}

function shapesByMember(sources: readonly Source[]): Map<string, Shape[]> {
  const found = new Map<string, Shape[]>();
  for (const { nodes } of sources)
    for (const node of nodes) {
      if (!isInterfaceDeclaration(node) && !isTypeLiteralNode(node)) continue;
      for (const member of node.members) {
        if (!isMethodSignatureDeclaration(member) && !isPropertySignatureDeclaration(member)) continue;
        const { name } = member;
        if (isIdentifier(name)) found.set(name.text, [...(found.get(name.text) ?? []), node]);
      }
    }
  return found;
}

/** Every public member of the service's classes that nothing but tests uses, as a line that names file and member. */
export async function findDeadMembers(root: string, allowed: ReadonlySet<string>): Promise<string[]> {
  const api = new API({ cwd: root });
  try {
    const config = join(root, "tsconfig.json");
    const project = (await api.updateSnapshot({ openProjects: [config] })).getProject(config);
    if (project === undefined) throw new Error(`${config} is no project`);
    const sources = await readSources(project, root);
    const { checker } = project;
    const known = await accessed(checker, sources);
    const members = sources.filter(({ file }) => file.startsWith("packages/server/src/")).flatMap(membersOf);
    const symbols = await checker.getSymbolAtLocation(members.map(({ name }) => name));
    const suspects = members.filter((_, i) =>
      (symbols[i]?.declarations ?? []).every(({ path, index }) => !known.has(`${path}:${index}`)),
    );
    const shapes = shapesByMember(sources);
    const dead: { file: string; name: string }[] = [];
    for (const member of suspects)
      if (!(await isReferenced(checker, member)) && !(await isPartOfInterface(checker, member, shapes)))
        dead.push({ file: member.file, name: `${member.owner.name?.text}.${member.text}` });
    const idle = [...allowed].filter((name) => dead.every((member) => member.name !== name));
    return [
      ...dead
        .filter(({ name }) => !allowed.has(name))
        .map(({ file, name }) => `${file}: nothing but tests uses ${name}`),
      ...idle.map((name) => `${name} is used; it goes from the list of exceptions`),
    ].sort();
  } finally {
    await api.close();
  }
}

if (import.meta.main) {
  const dead = await findDeadMembers(join(import.meta.dir, ".."), later);
  for (const problem of dead) console.error(problem);
  process.exit(dead.length > 0 ? 1 : 0);
}
