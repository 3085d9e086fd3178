import type { Form } from './form';

/** Shows the URL that a node answers under in `data-text="url"`, and lets the form's copy button copy it. */
export function showAddress<Config extends object>(form: Form<Config>, path: () => string): void {
  const address = () => {
    const root = RED.settings.httpNodeRoot ?? '/';
    return `${window.location.origin}${root.endsWith('/') ? root : `${root}/`}${path()}`;
  };
  form.onChange(() => form.setText('url', address()));
  form.root.querySelector('.sluice-copy')?.addEventListener('click', () => RED.clipboard.copyText(address()));
}
