// What an expression may use: variables with their types, functions, macros, types of objects.
import { type CelType, typeOf } from './cel-type.ts';
import type { FunctionDeclaration, Library } from './declarations.ts';
import type { CallEstimate, CallSite } from './estimate.ts';
import { optionalTypes } from './libraries/optional.ts';
import { standardLibrary } from './libraries/standard.ts';
import { twoVariableComprehensions } from './libraries/two-variable-comprehensions.ts';
import type { Macro } from './macros.ts';
import type { Value } from './value.ts';

/** Knows the types of objects by name. */
export interface TypeProvider {
  /** A type that an expression may name or build. */
  findType(name: string): CelType | undefined;
  /** Of an object's type. */
  findField(typeName: string, field: string): CelType | undefined;
  /** The value of `Name{field: value}`. */
  build?(typeName: string, fields: ReadonlyMap<string, Value>): Value;
}

export interface EnvironmentOptions {
  /** Besides the standard library. */
  readonly libraries?: readonly Library[];
  readonly variables?: Readonly<Record<string, CelType>>;
  readonly types?: TypeProvider;
  /** Prefix of names, as `package` in other languages. */
  readonly container?: string;
  readonly escapedNames?: boolean;
  /** Constants that are no duration, timestamp or pattern are issues, and literals of mixed types. */
  readonly validated?: boolean;
}

/** All that Kubernetes 1.36 has on in the language itself. */
export const languageLibraries: readonly Library[] = [optionalTypes, twoVariableComprehensions];

/** What libraries give together. It is made once for all environments that have the same. */
interface Language {
  readonly optionalSyntax: boolean;
  readonly macros: readonly Macro[];
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly equality: ReadonlyMap<string, (call: CallSite) => CallEstimate>;
  readonly validators: readonly NonNullable<Library['validate']>[];
  readonly namedTypes: ReadonlyMap<string, CelType>;
}

function languageOf(libraries: readonly Library[]): Language {
  return {
    optionalSyntax: libraries.some((library) => library.optionalSyntax === true),
    macros: libraries.flatMap((library) => library.macros ?? []),
    functions: mergeFunctions(libraries.flatMap((library) => library.functions ?? [])),
    equality: new Map(libraries.flatMap((library) => Object.entries(library.equality ?? {}))),
    validators: libraries.flatMap((library) => library.validate ?? []),
    namedTypes: new Map(libraries.flatMap((library) => library.types ?? []).map((type) => [type.name, type])),
  };
}

export class Environment {
  readonly container: string;
  readonly escapedNames: boolean;
  readonly validated: boolean;
  readonly types: TypeProvider | undefined;
  private readonly variables: ReadonlyMap<string, CelType>;
  private readonly options: EnvironmentOptions;
  private readonly language: Language;

  constructor(options: EnvironmentOptions = {}, language?: Language) {
    this.options = options;
    this.language = language ?? languageOf([standardLibrary, ...(options.libraries ?? [])]);
    this.container = options.container ?? '';
    this.escapedNames = options.escapedNames ?? false;
    this.validated = options.validated ?? false;
    this.types = options.types;
    this.variables = new Map(Object.entries(options.variables ?? {}));
  }

  get optionalSyntax(): boolean {
    return this.language.optionalSyntax;
  }
  get macros(): readonly Macro[] {
    return this.language.macros;
  }
  get functions(): ReadonlyMap<string, FunctionDeclaration> {
    return this.language.functions;
  }
  get equality(): ReadonlyMap<string, (call: CallSite) => CallEstimate> {
    return this.language.equality;
  }
  get validators(): readonly NonNullable<Library['validate']>[] {
    return this.language.validators;
  }

  /** The same with more variables, or with types of objects: as cheap as these are few. More libraries are not. */
  extend(more: Pick<EnvironmentOptions, 'variables' | 'types' | 'libraries'>): Environment {
    const options = {
      ...this.options,
      ...more,
      libraries: [...(this.options.libraries ?? []), ...(more.libraries ?? [])],
      variables: { ...this.options.variables, ...more.variables },
    };
    return new Environment(options, more.libraries ? undefined : this.language);
  }

  /** Full names that a name may stand for, best first. */
  candidates(name: string): string[] {
    if (name.startsWith('.')) return [name.slice(1)];
    const found: string[] = [];
    for (
      let prefix = this.container;
      prefix !== '';
      prefix = prefix.slice(0, Math.max(0, prefix.lastIndexOf('.')))
    )
      found.push(`${prefix}.${name}`);
    return [...found, name];
  }

  variable(name: string): CelType | undefined {
    return this.variables.get(name);
  }
  get variableNames(): Iterable<string> {
    return this.variables.keys();
  }

  /** The type of that name as a value has it: `type(int)` for `int`. */
  typeNamed(name: string): CelType | undefined {
    const type = this.language.namedTypes.get(name) ?? this.types?.findType(name);
    return type && typeOf(type);
  }

  findFunction(name: string): FunctionDeclaration | undefined {
    for (const candidate of this.candidates(name)) {
      const found = this.functions.get(candidate);
      if (found) return found;
    }
    return undefined;
  }
}

/** Several libraries may add overloads to one function; who is first says what its calls cost. */
function mergeFunctions(all: readonly FunctionDeclaration[]): ReadonlyMap<string, FunctionDeclaration> {
  const merged = new Map<string, FunctionDeclaration>();
  for (const declared of all) {
    const before = merged.get(declared.name);
    merged.set(
      declared.name,
      before ? { ...before, overloads: [...before.overloads, ...declared.overloads] } : declared,
    );
  }
  return merged;
}
