"""The service: studies over HTTP, with a page. It needs the extra `service`."""
