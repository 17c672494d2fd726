import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");

/** Files in which every number that is computed with is whole and as wide as it needs to be. */
export const EXACT_FILES = [
  ...["bits", "sampling", "rounding", "fractions", "outcomes"],
  ...["local_reports", "offer_prices", "sealed_places"],
  ...["powers", "coins", "splitting", "mixed_messages", "mixed_places"],
  ...["noise_shares", "masked_values", "neighbours", "shamir", "summed_places"],
].map((name) => `src/core/${name}.ts`);

const OPERATORS = ["+", "-", "*", "/", "%", "**", "<<", ">>", ">>>", "&", "|", "^"];
const ARITHMETIC = new Set([...OPERATORS, ...OPERATORS.map((each) => `${each}=`), "++", "--", "~"]);
const CONVERSIONS = new Set(["Math", "parseFloat", "parseInt", "toFixed", "toPrecision", "Float64Array"]);
const read = new Map<string, ts.SourceFile>();

/**
 * Every place at which a draw or a probability might be computed with floating-point numbers, or comes from a source
 * of random numbers that can be foretold. `changed` has texts that stand for those of the files.
 */
export function findInexact(changed: Record<string, string> = {}): string[] {
  const { options, fileNames } = readSettings();
  const host = ts.createCompilerHost(options);
  const getSourceFile = host.getSourceFile;
  host.getSourceFile = (path, ...rest) => {
    const text = changed[relative(ROOT, path)];
    if (text !== undefined) return ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
    if (!read.has(path)) read.set(path, getSourceFile.call(host, path, ...rest)!);
    return read.get(path);
  };
  const program = ts.createProgram(fileNames, options, host);
  const files = program.getSourceFiles().map((file) => ({ file, name: relative(ROOT, file.fileName) }));
  return files
    .filter(({ name }) => name.startsWith("src"))
    .flatMap(({ file, name }) => {
      const found = findIn(file, EXACT_FILES.includes(name), program.getTypeChecker());
      return found.map((at) => `${name}:${at}`);
    });
}

function readSettings(): { options: ts.CompilerOptions; fileNames: string[] } {
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile);
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  return { options, fileNames: fileNames.filter((path) => relative(ROOT, path).startsWith("src")) };
}

function findIn(file: ts.SourceFile, exact: boolean, checker: ts.TypeChecker): string[] {
  const found: string[] = [];
  const loose = ts.TypeFlags.NumberLike | ts.TypeFlags.Any;
  const isNumber = (node: ts.Node) => (checker.getTypeAtLocation(node).flags & loose) !== 0;
  const visit = (node: ts.Node): void => {
    if (isForetold(node) || (exact && isInexact(node, isNumber))) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
      found.push(`${line + 1} ${node.getText(file)}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** Math.random, however it is written. */
const isForetold = (node: ts.Node): boolean =>
  (ts.isIdentifier(node) || ts.isStringLiteralLike(node)) && node.text === "random";

function isInexact(node: ts.Node, isNumber: (node: ts.Node) => boolean): boolean {
  if (ts.isNumericLiteral(node)) return !/^[\d_]+$/.test(node.getText());
  if (ts.isIdentifier(node)) return CONVERSIONS.has(node.text) || (node.text === "Number" && !isQuestion(node.parent));
  if (ts.isBinaryExpression(node)) {
    return ARITHMETIC.has(node.operatorToken.getText()) && (isNumber(node.left) || isNumber(node.right));
  }
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
    return ARITHMETIC.has(ts.tokenToString(node.operator)!) && isNumber(node.operand);
  }
  return false;
}

/** Number.isFinite and its like compute nothing. */
const isQuestion = (node: ts.Node): boolean => ts.isPropertyAccessExpression(node) && node.name.text.startsWith("is");
