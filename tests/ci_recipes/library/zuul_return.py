"""Stands in for Zuul's module: keeps what a playbook returns in the file that ZUUL_RETURN names, a line each."""

import json
import os

from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule(argument_spec={"data": {"type": "dict", "required": True}})
    with open(os.environ["ZUUL_RETURN"], "a", encoding="utf-8") as returned:
        returned.write(json.dumps(module.params["data"]) + "\n")
    module.exit_json(changed=True)


if __name__ == "__main__":
    main()
