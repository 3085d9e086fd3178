// Writes the rows of a dialog. A form says `<sluice-field name="maxInFlight" unit="records" />`; what kind of input that
// is comes from the node's config, its label, options and hints from the texts. So a form can't disagree with either.
//
//   icon         of Font Awesome, before the label       when         condition of the whole row, see lib/editor/conditions
//   unit         a word of `sluice.unit`, or `ms`        placeholder  a sample; a text `placeholder.<name>` goes before it
//   prefix       stands before the input, joined to it   rows         makes a text area
//   copy         shows that text of the editor half, with a button that copies it
// What is inside the element is added at the end of the row.

/** @typedef {Readonly<Record<string, string>>} Attributes */
/** @typedef {{ kind: string, options?: readonly string[], fraction?: boolean }} Field */
/** @typedef {{ fields: Readonly<Record<string, Field>>, credentials?: Readonly<Record<string, { type: string }>> }} Config */
/** @typedef {{ [key: string]: string | Texts }} Texts */

const ELEMENT = /^([ \t]*)<sluice-field\b([^>]*?)(?:\/>|>([\s\S]*?)<\/sluice-field>)/gm;
const ATTRIBUTE = /([\w-]+)="([^"]*)"/g;

/**
 * @param {string} form
 * @param {string} type
 * @param {Config} config
 * @param {Texts} texts with those that all nodes share under `sluice`
 * @param {boolean} isConfigNode
 */
export function expandForm(form, type, config, texts, isConfigNode) {
  const rows = new Rows(type, config, texts, isConfigNode ? 'node-config-input' : 'node-input');
  return form.replace(ELEMENT, (_all, indent, attributes, inner) =>
    rows.row(attributesOf(attributes), (inner ?? '').trim()).replace(/^/gm, indent),
  );
}

/** @param {string} text */
const attributesOf = (text) =>
  Object.fromEntries([...text.matchAll(ATTRIBUTE)].map(([, name, value]) => [name, value ?? '']));

/**
 * ` name="value"` for each that has one.
 * @param {Readonly<Record<string, string | undefined>>} attributes
 */
const print = (attributes) =>
  Object.entries(attributes)
    .map(([name, value]) => (value === undefined ? '' : ` ${name}="${value}"`))
    .join('');

class Rows {
  /**
   * @param {string} type
   * @param {Config} config
   * @param {Texts} texts
   * @param {string} prefix with which the ids of the inputs begin
   */
  constructor(type, config, texts, prefix) {
    this.type = type;
    this.config = config;
    this.texts = texts;
    this.prefix = prefix;
  }

  /**
   * @param {Attributes} given
   * @param {string} inner
   */
  row(given, inner) {
    const name = given['name'] ?? '';
    const field = this.fieldOf(name);
    const parts = [
      field.kind === 'flag' ? this.check(name) : this.labelled(name, field, given),
      ...copyable(given['copy']),
      ...this.hints(name, field, inner),
      ...(inner === '' ? [] : [inner]),
    ];
    return `<div class="sluice-row"${print({ 'data-when': given['when'] })}>\n${parts.map(indented).join('\n')}\n</div>`;
  }

  /**
   * @param {string} name
   * @returns {Field}
   */
  fieldOf(name) {
    const credential = this.config.credentials?.[name];
    const field = credential ? { kind: credential.type } : this.config.fields[name];
    if (!field) throw new Error(`its form has a field "${name}" that its config lacks`);
    return field;
  }

  /** @param {string} name */
  check(name) {
    return block('div class="sluice-check"', [
      `<input type="checkbox" id="${this.prefix}-${name}" />`,
      `<label for="${this.prefix}-${name}" data-i18n="${this.key('field', name)}"></label>`,
    ]);
  }

  /**
   * @param {string} name
   * @param {Field} field
   * @param {Attributes} given
   */
  labelled(name, field, given) {
    const text = this.key('field', name);
    const label = given['icon']
      ? `<label for="${this.prefix}-${name}"><i class="fa fa-${given['icon']}" aria-hidden="true"></i> <span data-i18n="${text}"></span></label>`
      : `<label for="${this.prefix}-${name}" data-i18n="${text}"></label>`;
    const input = this.input(name, field, given);
    const joined =
      given['prefix'] === undefined
        ? input
        : block('div class="sluice-joined"', [
            `<span class="sluice-prefix">${given['prefix']}</span>`,
            input,
          ]);
    return block('div class="sluice-field"', [label, joined, ...this.unit(given['unit'])]);
  }

  /**
   * @param {string} name
   * @param {Field} field
   * @param {Attributes} given
   */
  input(name, { kind, options = [], fraction }, given) {
    const id = `${this.prefix}-${name}`;
    if (kind === 'choice') {
      return block(
        `select id="${id}"`,
        options.map((value) => this.option(name, value)),
      );
    }
    const own = this.find('placeholder', name);
    const sample = own ? { 'data-i18n': `[placeholder]${own}` } : { placeholder: given['placeholder'] };
    const spelling = { spellcheck: given['spellcheck'] };
    if (given['rows']) {
      return `<textarea${print({ id, rows: given['rows'], ...spelling, ...sample })}></textarea>`;
    }
    if (kind === 'number') {
      const inputmode = fraction ? 'decimal' : 'numeric';
      return `<input${print({ type: 'text', inputmode, class: 'sluice-number', id, ...sample })} />`;
    }
    const type = kind === 'password' ? 'password' : 'text';
    const autocomplete = given['autocomplete'];
    return `<input${print({ type, id, autocomplete, ...spelling, ...sample })} />`;
  }

  /**
   * @param {string} name
   * @param {string} value
   */
  option(name, value) {
    const text = this.find('option', name, value);
    return text
      ? `<option value="${value}" data-i18n="${text}"></option>`
      : `<option value="${value}">${value}</option>`;
  }

  /** @param {string | undefined} unit */
  unit(unit) {
    if (unit === undefined) return [];
    const text = this.find('unit', unit);
    return [
      text
        ? `<span class="sluice-unit" data-i18n="${text}"></span>`
        : `<span class="sluice-unit">${unit}</span>`,
    ];
  }

  /**
   * A hint of the field, or one for each of its options; not where the form shows it itself.
   * @param {string} name
   * @param {Field} field
   * @param {string} inner
   */
  hints(name, { options = [] }, inner) {
    const path = this.find('hint', name);
    if (path === undefined || inner.includes(path)) return [];
    const hint = this.textAt(path);
    if (typeof hint === 'string') return [this.hint(path, hint)];
    return Object.entries(hint ?? {}).map(([key, text]) =>
      this.hint(`${path}.${key}`, String(text), options.includes(key) ? `${name}=${key}` : undefined),
    );
  }

  /**
   * @param {string} path
   * @param {string} text
   * @param {string} [when]
   */
  hint(path, text, when) {
    const key = text.includes('<') ? `[html]${path}` : path;
    return `<div${print({ class: 'sluice-hint', 'data-when': when, 'data-i18n': key })}></div>`;
  }

  /**
   * The key of a text that has to be there.
   * @param {...string} path
   */
  key(...path) {
    const found = this.find(...path);
    if (found === undefined) throw new Error(`its texts lack ${this.type}.${path.join('.')}`);
    return found;
  }

  /**
   * The key of a text: the node's own goes before the one that all nodes share.
   * @param {...string} path
   */
  find(...path) {
    return [this.type, 'sluice']
      .map((owner) => [owner, ...path].join('.'))
      .find((key) => this.textAt(key) !== undefined);
  }

  /** @param {string} key */
  textAt(key) {
    /** @type {string | Texts | undefined} */
    let found = this.texts;
    for (const part of key.split('.')) found = typeof found === 'object' ? found[part] : undefined;
    return found;
  }
}

/** @param {string | undefined} text its name in the editor half */
const copyable = (text) =>
  text === undefined
    ? []
    : [
        block('div class="sluice-url"', [
          `<code data-text="${text}"></code>`,
          block(
            'button type="button" class="red-ui-button red-ui-button-small sluice-copy" data-i18n="[aria-label]sluice.copy;[title]sluice.copy"',
            ['<i class="fa fa-clipboard" aria-hidden="true"></i>'],
          ),
        ]),
      ];

/** @param {string} text */
const indented = (text) => text.replace(/^/gm, '  ');

/**
 * @param {string} open a tag with its attributes
 * @param {readonly string[]} inner
 */
const block = (open, inner) => `<${open}>\n${inner.map(indented).join('\n')}\n</${open.split(' ')[0]}>`;
