import { defineNode } from '../../lib/editor/define-node';
import { showAddress } from '../../lib/editor/address';
import { credentials, fields, problemsOf } from './signed-webhook.config';
import { adviceFor } from './signed-webhook.senders';

defineNode('signed-webhook', {
  kind: 'source',
  fields,
  problemsOf,
  credentials,
  requiredCredentials: () => ['secret'],
  exactCredentials: ['secret', 'previousSecret'],
  inputs: 0,
  outputs: 1,
  label: ({ hook }) => hook,
  onOpen(form) {
    showAddress(form, () => `api/hooks/${form.config().hook || '{hook}'}`);
    form.onChange(() => form.showOnly('data-advice', adviceFor(form.config())));
    form.root
      .querySelector('.sluice-use-receipt')
      ?.addEventListener('click', () => form.set('respond', 'on_receipt'));
  },
});
