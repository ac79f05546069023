// How the stored bytes of an object begin that are in the version of a declaration: it is served as it is.
import type { ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { apiVersionOf } from '../../apimachinery/resource-ref.ts';

export class ServedForm {
  readonly #head: Buffer;

  constructor(declaration: ResourceDeclaration) {
    const [kind, apiVersion] = [declaration.kind, apiVersionOf(declaration)].map((one) =>
      JSON.stringify(one),
    );
    this.#head = Buffer.from(`{"kind":${kind},"apiVersion":${apiVersion},`);
  }

  isOf(value: Buffer): boolean {
    const head = this.#head;
    return value.length > head.length && value.compare(head, 0, head.length, 0, head.length) === 0;
  }
}
