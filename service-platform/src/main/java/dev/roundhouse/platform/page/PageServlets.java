package dev.roundhouse.platform.page;

import dev.roundhouse.platform.access.Access;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextType;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.annotation.Bean;

/** Has the operators' port of an application that ends its pages serve one. */
@ManagementContextConfiguration(value = ManagementContextType.ANY, proxyBeanMethods = false)
class PageServlets {

  @Bean
  @ConditionalOnBean(PageEnd.class)
  ServletRegistrationBean<FilesServlet> pageFiles() {
    ServletRegistrationBean<FilesServlet> registration =
        new ServletRegistrationBean<>(new FilesServlet(), "/ui/*");
    registration.setName("page");
    return registration;
  }

  @Bean
  @ConditionalOnBean(PageFeed.class)
  ServletRegistrationBean<FeedServlet> pageEvents(PageFeed feed, PageEnd end, Access access) {
    ServletRegistrationBean<FeedServlet> registration =
        new ServletRegistrationBean<>(new FeedServlet(feed, end, access), "/ui/events");
    registration.setName("page-events");
    return registration;
  }
}
